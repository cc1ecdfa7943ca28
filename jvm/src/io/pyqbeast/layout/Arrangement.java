package io.pyqbeast.layout;

import io.pyqbeast.spark.MapPartitionsWithExpressions;
import io.pyqbeast.spark.RowFunction;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;

/** Rows on their way to the files of a {@link Tree}: one partition a file, along the z-order curve in it. */
public final class Arrangement {
  private Arrangement() {}

  /**
   * @param data the rows
   * @param pointAndWeight the coordinates of a row (doubles) and its weight (int); never null
   */
  public static Dataset<Row> of(Dataset<Row> data, List<Column> pointAndWeight, Tree tree) {
    Project project = (Project) plan(data.select(pointAndWeight.toArray(Column[]::new)));
    List<Expression> asked = new ArrayList<>();
    ScalaInterop.list(project.projectList()).forEach(named -> asked.add((Expression) named));
    Dataset<Row> packs = over(data, project.child(), asked, Packer.SCHEMA, new Packer(tree, data.schema()));
    Dataset<Row> sent =
        packs.repartitionById(tree.files() + 1, functions.col("file")).sortWithinPartitions("stretch");
    return over(data, plan(sent), List.of(), data.schema(), new Unpacker(data.schema().length()));
  }

  private static LogicalPlan plan(Dataset<Row> data) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) data).queryExecution().analyzed();
  }

  private static Dataset<Row> over(
      Dataset<Row> data, LogicalPlan child, List<Expression> asked, StructType schema, RowFunction function) {
    List<Attribute> output = new ArrayList<>(ScalaInterop.list(DataTypeUtils.toAttributes(schema)));
    return org.apache.spark.sql.classic.Dataset.ofRows(
        (org.apache.spark.sql.classic.SparkSession) data.sparkSession(),
        new MapPartitionsWithExpressions(child, ScalaInterop.seq(asked), ScalaInterop.seq(output), function));
  }
}
