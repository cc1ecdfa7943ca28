package io.pyqbeast.sample;

import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.index.BlockIndex;
import io.pyqbeast.index.WeightRange;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.SubsetFileIndex;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FileSourceMetadataAttribute$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.planning.PhysicalOperation;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;

/**
 * Plans a scan whose filters bound the weight. A file all of whose rows lie within the bounds is read as it is: without
 * the comparison of weights, and without the hashed columns if only the weight needs them. The files that a bound cuts
 * are read in a second scan, with all filters. At the fractions that writers cut files at there are none of them. Either
 * scan reads no more of a file than the parts that hold rows within the bounds: to Spark the file ends there.
 *
 * <p>This happens as late as the physical plan. Before it, every rule of Spark's and Delta's sees one table with one
 * filter. Delta's own strategy then plans either scan, with deletion vectors and all.
 */
public final class WholeFiles extends SparkStrategy {
  private static final long serialVersionUID = 1L;

  @Override
  public Seq<SparkPlan> apply(LogicalPlan plan) {
    return ScalaInterop.seq(planned(plan));
  }

  private List<SparkPlan> planned(LogicalPlan plan) {
    Option<Tuple3<Seq<NamedExpression>, Seq<Expression>, LogicalPlan>> scan = PhysicalOperation.unapply(plan);
    if (scan.isEmpty()
        || !(scan.get()._3() instanceof LogicalRelation relation)
        || !(relation.relation() instanceof HadoopFsRelation table)
        || !table.partitionSchema().isEmpty()
        || !(table.location() instanceof PrunedFileIndex index)) {
      return List.of();
    }
    List<NamedExpression> columns = ScalaInterop.list(scan.get()._1());
    List<Expression> filters = ScalaInterop.list(scan.get()._2());
    Snapshot snapshot = index.preparedScan().scannedSnapshot();
    WeightRange range = WeightRange.of(filters, HashedColumns.of(snapshot.metadata()).all());
    if (range == null || !areDeterministic(columns) || !areDeterministic(filters)) {
      return List.of();
    }
    BlockIndex weights = BlockIndex.of(snapshot);
    boolean mayShorten = !askForFiles(columns) && !askForFiles(filters);
    List<AddFile> files = ScalaInterop.list(index.preparedScan().files());
    List<AddFile> whole = new ArrayList<>();
    List<AddFile> cut = new ArrayList<>();
    for (AddFile file : files) {
      BlockIndex.Needed needed = weights.needed(file, range);
      boolean isShorter = needed.bytes() < file.size();
      if (isShorter && !mayShorten) {
        cut.add(file);
      } else {
        (needed.isWhole() ? whole : cut).add(isShorter ? DeltaActions.ofSize(file, needed.bytes()) : file);
      }
    }
    if (cut.equals(files)) {
      return List.of();
    }
    List<SparkPlan> scans = new ArrayList<>();
    if (!whole.isEmpty()) {
      scans.add(planLater(scan(columns, range.others(), relation, index, whole)));
    }
    if (!cut.isEmpty()) {
      scans.add(planLater(scan(columns, filters, relation, index, cut)));
    }
    return scans.size() == 1 ? scans : List.of(new UnionExec(ScalaInterop.seq(scans)));
  }

  /**
   * Whether expressions give the same wherever they are computed. Two scans number their rows and tasks each from zero,
   * so that {@code monotonically_increasing_id()} would give numbers twice.
   */
  private static boolean areDeterministic(List<?> expressions) {
    return expressions.stream().allMatch(each -> ((Expression) each).deterministic());
  }

  /** Whether expressions tell of the files, such as their size. */
  private static boolean askForFiles(List<?> expressions) {
    return expressions.stream()
        .flatMap(each -> ScalaInterop.list(((Expression) each).references().toSeq()).stream())
        .anyMatch(
            column ->
                column instanceof AttributeReference reference
                    && FileSourceMetadataAttribute$.MODULE$.unapply(reference).isDefined());
  }

  private static LogicalPlan scan(
      List<NamedExpression> columns,
      List<Expression> filters,
      LogicalRelation relation,
      PrunedFileIndex index,
      List<AddFile> files) {
    SubsetFileIndex chosen =
        new SubsetFileIndex(
            index.spark(), index.deltaLog(), index.path(), index.preparedScan().scannedSnapshot(), index, files);
    LogicalPlan rows = LogicalPlans.reading(relation, chosen);
    LogicalPlan left = filters.stream().reduce(And::new).<LogicalPlan>map(all -> new Filter(all, rows)).orElse(rows);
    return new Project(ScalaInterop.seq(columns), left);
  }
}
