package io.pyqbeast.layout;

import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.Recomputed;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Shuffles;
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
import org.apache.spark.sql.types.StructType;

/**
 * Shuffles rows to the files of a {@link Tree}: one partition a file, sorted by the stretches of the file. Few rows that
 * go to one file need no shuffle, which takes longer than one task takes for all of them.
 */
public final class RowShuffle {
  private RowShuffle() {}

  /**
   * The rows of {@code data}, in the partitions and the order in which they have to be written.
   *
   * @param data the rows
   * @param pointAndWeight the coordinates of a row (doubles) and its weight (int); never null
   */
  public static Dataset<Row> of(Dataset<Row> data, List<Column> pointAndWeight, Tree tree) {
    Project project = (Project) Frames.plan(data.select(pointAndWeight.toArray(Column[]::new)));
    List<Expression> computed = new ArrayList<>();
    ScalaInterop.list(project.projectList()).forEach(column -> computed.add((Expression) column));
    RowPacker packer = new RowPacker(tree, data.schema());
    Recomputed recomputed = Recomputed.of(project.child());
    Dataset<Row> packs = over(data, project.child(), computed, RowPacker.SCHEMA, packer, recomputed);
    Dataset<Row> gathered =
        tree.files() == 1 && SmallPlans.isSmall(data)
            ? packs.coalesce(1) // rows outside the revision's space are few or none, and need no file of their own
            : Shuffles.byNumber(packs, tree.files() + 1, "file");
    Dataset<Row> sorted = gathered.sortWithinPartitions("stretch");
    RowUnpacker unpacker = new RowUnpacker(data.schema().length(), tree.endsOfParts());
    // The order of packs decides nothing: the shuffle has what there is to tell of rows that may differ.
    return over(data, Frames.plan(sorted), List.of(), data.schema(), unpacker, Recomputed.SAME);
  }

  private static Dataset<Row> over(
      Dataset<Row> data, LogicalPlan child, List<Expression> computed, StructType schema, RowFunction function,
      Recomputed recomputed) {
    List<Attribute> output = new ArrayList<>(ScalaInterop.list(DataTypeUtils.toAttributes(schema)));
    return Frames.of(
        data.sparkSession(),
        new MapPartitionsWithExpressions(
            child, ScalaInterop.seq(computed), ScalaInterop.seq(output), function, recomputed));
  }
}
