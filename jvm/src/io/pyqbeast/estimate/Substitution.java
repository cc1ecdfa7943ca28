package io.pyqbeast.estimate;

import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * A {@link RowPreservingPlan} over other rows of its tables. Each row of the result has the bucket of the rows that it
 * comes from: they have one weight, so they have one bucket too.
 *
 * @param rows of each table, in the order of the tables
 */
record Substitution(QueriedTables tables, List<SampledTable.Rows> rows) {
  /** @return null for a part of the plan that reads no indexed table */
  SampledTable.Rows in(LogicalPlan part) {
    int table = tables.at(part);
    if (table >= 0) {
      return rows.get(table);
    }
    if (!tables.areReadBy(part)) {
      return null;
    }
    if (part instanceof Join join) {
      return joined(join, in(join.left()), in(join.right()));
    }
    SampledTable.Rows below = in(ScalaInterop.list(part.children()).get(0));
    if (part instanceof Project project) {
      return projected(ScalaInterop.list(project.projectList()), below.bucket(), below);
    }
    return part instanceof Filter filter
        ? new SampledTable.Rows(new Filter(filter.condition(), below.plan()), below.bucket())
        : below;
  }

  private static SampledTable.Rows joined(Join join, SampledTable.Rows left, SampledTable.Rows right) {
    LogicalPlan joined =
        LogicalPlans.joined(
            join, left == null ? join.left() : left.plan(), right == null ? join.right() : right.plan());
    String type = join.joinType().sql();
    if (left == null || type.equals("RIGHT OUTER")) {
      return new SampledTable.Rows(joined, right.bucket());
    }
    if (!type.equals("FULL OUTER")) {
      return new SampledTable.Rows(joined, left.bucket());
    }
    Expression either =
        new Coalesce(
            ScalaInterop.seq(List.of(left.bucket().withNullability(true), right.bucket().withNullability(true))));
    Alias bucket = LogicalPlans.named(either, "bucket");
    List<NamedExpression> output = new ArrayList<>(ScalaInterop.list(join.output()));
    return projected(output, bucket, new SampledTable.Rows(joined, bucket.toAttribute()));
  }

  private static SampledTable.Rows projected(
      List<NamedExpression> columns, NamedExpression bucket, SampledTable.Rows below) {
    List<NamedExpression> output = new ArrayList<>(columns);
    output.add(bucket);
    return new SampledTable.Rows(new Project(ScalaInterop.seq(output), below.plan()), below.bucket());
  }
}
