package io.pyqbeast.commit;

import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import scala.Option;

/**
 * The rows of files that are about to be replaced. A session may be set to pass over files that it cannot read, or over
 * columns that files spell in another case, or to read other days than the files have. In a query that changes the answer;
 * here it would change the table.
 */
final class RowsOfFiles {
  private static final Map<String, String> EVERY_FILE =
      Map.of(FileSourceOptions.IGNORE_MISSING_FILES(), "false", FileSourceOptions.IGNORE_CORRUPT_FILES(), "false");

  private RowsOfFiles() {}

  static Dataset<Row> of(Snapshot snapshot, List<AddFile> files) {
    Dataset<Row> rows =
        snapshot.deltaLog().createDataFrame(snapshot, ScalaInterop.seq(files), false, Option.empty());
    LogicalPlan every =
        LogicalPlans.replaced(
            Frames.plan(rows), LogicalRelation.class,
            relation -> LogicalPlans.nullable(LogicalPlans.exact(LogicalPlans.withOptions(relation, EVERY_FILE))));
    return PaddedTexts.in(
        RowTracking$.MODULE$.preserveRowTrackingColumns(Frames.of(rows.sparkSession(), every), snapshot),
        snapshot.metadata().schema());
  }
}
