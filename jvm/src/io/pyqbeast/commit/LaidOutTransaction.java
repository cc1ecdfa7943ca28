package io.pyqbeast.commit;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.parquet.ExactParquet;
import io.pyqbeast.parquet.PartedFiles;
import io.pyqbeast.spark.DeltaActions;
import io.pyqbeast.spark.DeltaWrites;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.statistics.StatisticsOfJob;
import io.pyqbeast.statistics.WrittenFiles;
import io.pyqbeast.statistics.WrittenWeight;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.RowTracking$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.constraints.Constraint;
import org.apache.spark.sql.delta.files.DelayedCommitProtocol;
import org.apache.spark.sql.delta.stats.DeltaJobStatisticsTracker;
import org.apache.spark.sql.delta.stats.StatisticsCollection;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * What Delta calls while it writes rows that are laid out already. It asks for the table's metadata, for what counts the rows
 * of each file, and for what makes the files.
 */
abstract class LaidOutTransaction extends SureTransaction {
  /** Which rows Delta is writing. */
  private enum Rows {
    /** Those of {@link #laidOut}, which are complete. */
    LAID_OUT,
    /** Rows that are in the table already, laid out anew. */
    OF_TABLE,
    /** Rows that Delta has put together itself. */
    OF_DELTA
  }

  final SparkSession session;
  final WrittenFiles written = new WrittenFiles();

  /** What the options of the last call ask for; nothing before. */
  WriteRequest request;

  StoredEntries entries = StoredEntries.NONE;

  /** What is known of the rows before they are written. */
  Rehearsal rehearsal = Rehearsal.NONE;

  /**
   * The rows to write, laid out. {@code source} is the same without identity columns, which Delta accepts from no
   * user.
   */
  Dataset<Row> laidOut;

  Dataset<Row> source;

  /** Null while no files are written. */
  private Rows beingWritten;

  /** Whether the rows of the files that are being written now are laid out, so that their blocks are counted. */
  private boolean isCounted;

  private StatisticsOfJob tracker;

  LaidOutTransaction(SparkSession session, DeltaLog log, Snapshot begins) {
    super(log, Option.empty(), begins);
    this.session = session;
    this.request = WriteRequest.of(session, Map.of());
  }

  /** Whether there was a table when this began. */
  abstract boolean exists();

  /**
   * Whether another table takes the place of the one that is there. Delta asks for the metadata, and so for this, before
   * there is a request.
   */
  final boolean isReplaced() {
    return request != null && request.replacesTable() && exists();
  }

  @Override
  public void updateMetadata(Metadata proposed, boolean ignoreDefaultProperties) {
    Map<String, String> properties = request.properties();
    Map<String, String> ofStatement = exists() && request.options().canOverwriteSchema() ? properties : Map.of();
    Metadata first = isReplaced() ? StoredEntries.ofNewTable(proposed, properties, session) : proposed;
    super.updateMetadata(entries.in(first, ofStatement), ignoreDefaultProperties);
    // This has to wait until Delta has given all columns their names in files.
    entries.layoutIn(metadata()).ifPresent(recorded -> newMetadata_$eq(Option.apply(recorded)));
  }

  /**
   * Puts our tracker in the place of Delta's. Delta keeps its own where it splits the rows into partitions of change
   * data and others, which it does when the same commit deletes rows.
   */
  @Override
  public Tuple2<Option<DeltaJobStatisticsTracker>, Option<StatisticsCollection>>
      getOptionalStatsTrackerAndStatsCollection(
          Seq<Attribute> output, Path folder, StructType partitions, Dataset<Row> data) {
    Tuple2<Option<DeltaJobStatisticsTracker>, Option<StatisticsCollection>> deltas =
        super.getOptionalStatsTrackerAndStatsCollection(output, folder, partitions, data);
    if (deltas._1().isEmpty() && RowTracking$.MODULE$.isSupported(protocol())) {
      throw new Refusal(
          "the table at " + deltaLog().dataPath() + " tracks its rows, for which Delta has to count them in each file, and"
              + " this session collects no statistics: set spark.databricks.delta.stats.collect to true");
    }
    tracker = null;
    WrittenWeight weight = isCounted ? WrittenWeight.of(metadata(), ScalaInterop.list(output)) : null;
    if (!partitions.isEmpty() || (deltas._1().isEmpty() && weight == null)) {
      return deltas;
    }
    tracker = StatisticsOfJob.of(deltas._1(), deltaLog().newDeltaHadoopConf(), folder, output, weight);
    return new Tuple2<>(Option.apply(tracker), deltas._2());
  }

  /** Rows that Delta rewrites itself, for {@code replaceWhere}, come without options. */
  @Override
  public Seq<FileAction> writeFiles(
      Dataset<?> data, Option<DeltaOptions> given, boolean isOptimize, Seq<Constraint> constraints) {
    if (data != source) {
      return write(Rows.OF_DELTA, data, given, constraints);
    }
    if (!rehearsal.identityColumns().isEmpty()) {
      setTrackHighWaterMarks(rehearsal.identityColumns());
    }
    // What Delta does not compare in such columns is compared here if the rows came with them.
    boolean hasMaps = AcceptedRows.completed(super.metadata()) != super.metadata();
    Seq<Constraint> checked =
        hasMaps
            ? ScalaInterop.seq(
                LogicalPlans.together(ScalaInterop.list(constraints), ScalaInterop.list(rehearsal.checks())))
            : constraints;
    return write(Rows.LAID_OUT, laidOut, given, checked);
  }

  /** Writes rows that are in the table already, laid out anew. */
  Seq<FileAction> writeAgain(Dataset<Row> rows) {
    return write(Rows.OF_TABLE, rows, Option.apply(request.options()), ScalaInterop.seq(List.of()));
  }

  /**
   * Writes files without another shuffle. The flag {@code isOptimize} stops Delta's optimized write and auto
   * compaction, which would undo the layout. Files of rows that come without options get no index.
   */
  private Seq<FileAction> write(
      Rows rows, Dataset<?> data, Option<DeltaOptions> given, Seq<Constraint> constraints) {
    isCounted = given.isDefined();
    beingWritten = rows;
    Seq<FileAction> files;
    try {
      files = super.writeFiles(data, given, true, constraints);
    } finally {
      beingWritten = null;
    }
    if (isCounted) {
      written.add(ScalaInterop.list(files), tracker);
    }
    return files;
  }

  /** Its files begin a row group with each part of theirs. */
  @Override
  public DelayedCommitProtocol getCommitter(Path folder) {
    return new PartedFiles(folder.toString(), DeltaWrites.lengthOfFolders(this), deltaDataSubdir());
  }

  /**
   * The metadata by which Delta checks rows where it writes some, and else that of the table. A table that is replaced
   * has no partitions any more: Delta keeps them where the new rows name none.
   */
  @Override
  public Metadata metadata() {
    Metadata table = isReplaced() ? DeltaActions.unpartitioned(super.metadata()) : super.metadata();
    if (beingWritten == null) {
      return table;
    }
    return ExactParquet.of(
        switch (beingWritten) {
          case LAID_OUT -> AcceptedRows.completed(table);
          case OF_TABLE -> AcceptedRows.of(table);
          case OF_DELTA -> table;
        });
  }
}
