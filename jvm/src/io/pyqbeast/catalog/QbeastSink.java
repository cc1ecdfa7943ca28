package io.pyqbeast.catalog;

import io.pyqbeast.commit.CachedRows;
import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Failure;
import io.pyqbeast.errors.PythonFailure;
import io.pyqbeast.format.Constants;
import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.DeltaCommands;
import io.pyqbeast.spark.DeltaWrites;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.LogicalPlans;
import io.pyqbeast.spark.Recomputed;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.TypeWidening;
import org.apache.spark.sql.delta.TypeWideningMode;
import org.apache.spark.sql.delta.UniversalFormat;
import org.apache.spark.sql.delta.files.TahoeFileIndex;
import org.apache.spark.sql.delta.schema.SchemaMergingUtils$;
import org.apache.spark.sql.delta.schema.SchemaUtils$;
import org.apache.spark.sql.delta.sources.DeltaSQLConf$;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;
import scala.runtime.BoxedUnit;

/** Writes each batch of a stream as one commit, named by query and batch so that a replayed batch changes nothing. */
public final class QbeastSink implements Sink {
  private static final String QUERY_ID = "sql.streaming.queryId";
  private static final String JOB_GROUP = "spark.jobGroup.id";

  private final Map<String, String> options;
  private final SaveMode mode;

  /** @param mode of each batch */
  public QbeastSink(Map<String, String> options, SaveMode mode) {
    this.options = options;
    this.mode = mode;
  }

  @Override
  public void addBatch(long batchId, Dataset<Row> data) {
    SparkSession session = (SparkSession) data.sparkSession();
    Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    all.putAll(options);
    all.put("txnAppId", session.sparkContext().getLocalProperty(QUERY_ID));
    all.put("txnVersion", Long.toString(batchId));
    // Spark allows a batch to be computed once, and an indexed write reads the rows twice. So the rows are kept.
    RDD<InternalRow> computed = Frames.query(data).toRdd();
    Dataset<Row> rows =
        session.internalCreateDataFrame(
            Recomputed.of(Frames.plan(data)).told(computed), data.schema(), false);
    rows.persist(StorageLevel.MEMORY_AND_DISK());
    try {
      Door door = Door.writing(session, all.get("path"));
      Dataset<Row> stored = door.open(() -> ofTypesInTable(session, all, rows));
      if (all.containsKey("path")) {
        OptionalLong read = door.open(() -> versionRead(logOf(session, all), data));
        read.ifPresent(version -> all.put(Constants.READS_TABLE, Long.toString(version)));
      }
      Bridge.write(mode, all, stored);
    } catch (PythonFailure | Failure failure) {
      throw Door.unchecked(asSparkKnowsIt(failure, session.sparkContext().getLocalProperty(JOB_GROUP)));
    } finally {
      Frames.freeCached(rows);
    }
    CachedRows.refresh(session, all.get("path"), all);
  }

  /** The log of the table, reached as options of Hadoop among those of the stream say. */
  private static DeltaLog logOf(SparkSession session, Map<String, String> all) {
    return DeltaLog.forTable(session, new Path(all.get("path")), ScalaInterop.map(all));
  }

  /**
   * The version of the table that a batch goes to which its rows were worked out from; empty where they were not. The rows are
   * no longer part of a plan when they are written, so Delta cannot see it. Where the table is read twice, the older version
   * counts.
   */
  private static OptionalLong versionRead(DeltaLog log, Dataset<Row> data) {
    if (filesRead(Frames.plan(data), log).isEmpty()) {
      return OptionalLong.empty();
    }
    LogicalPlan planned = Frames.query(data).optimizedPlan();
    return OptionalLong.of(
        filesRead(planned, log).stream()
            .map(DeltaCommands::versionChosen)
            .flatMapToLong(OptionalLong::stream)
            .min()
            .orElseGet(() -> Snapshots.newest(log).version()));
  }

  /** For each place where a plan reads the table the files there. */
  private static List<TahoeFileIndex> filesRead(LogicalPlan plan, DeltaLog log) {
    List<TahoeFileIndex> all = new ArrayList<>();
    plan.foreachWithSubqueries(
        ScalaInterop.function(
            node -> {
              LogicalPlans.filesRead(node, TahoeFileIndex.class)
                  .filter(files -> files.deltaLog().isSameLogAs(log))
                  .ifPresent(all::add);
              return BoxedUnit.UNIT;
            }));
    return all;
  }

  /**
   * A query that is stopped interrupts its thread and cancels its jobs. Spark takes the exceptions of these two for the
   * end of the query, and any other for its failure.
   */
  private static Exception asSparkKnowsIt(RuntimeException failure, String jobGroup) {
    Throwable root = Door.root(failure);
    boolean isInterruption =
        root instanceof InterruptedException
            || root instanceof InterruptedIOException
            || root instanceof ClosedByInterruptException;
    boolean isCancellation =
        root instanceof SparkException && jobGroup != null && String.valueOf(root.getMessage()).contains(jobGroup);
    return isInterruption || isCancellation ? (Exception) root : failure;
  }

  /**
   * Casts the columns of a stream to the types that the table has after the batch, as Delta's sink does. Left alone are
   * batches that bring a schema of their own. Fields that the table lacks stay: the write adds them or refuses them.
   */
  private Dataset<Row> ofTypesInTable(SparkSession session, Map<String, String> all, Dataset<Row> rows) {
    DeltaOptions asked = new DeltaOptions(ScalaInterop.map(all), session.sessionState().conf());
    boolean bringsSchema = asked.canOverwriteSchema() && mode == SaveMode.Overwrite;
    if (!all.containsKey("path") || bringsSchema) {
      return rows;
    }
    DeltaLog log = logOf(session, all);
    Snapshot table = Snapshots.newest(log);
    StructType merged =
        SchemaMergingUtils$.MODULE$.mergeSchemas(
            table.schema(), rows.schema(), true, false, widening(table, asked, session.sessionState().conf()), false);
    // Delta matches names in any case, Spark does so only in some sessions.
    Dataset<Row> named = SchemaUtils$.MODULE$.normalizeColumnNames(log, merged, rows);
    StructType asStored = new StructType();
    for (StructField given : named.schema().fields()) {
      asStored = asStored.add(given.name(), merged.apply(given.name()).dataType().asNullable());
    }
    return DataType.equalsIgnoreNullability(named.schema(), asStored) ? named : DeltaWrites.cast(session, named, asStored);
  }

  /** Which types of the table give way to wider ones of a batch: those that the write itself widens. */
  private static TypeWideningMode widening(Snapshot table, DeltaOptions asked, SQLConf settings) {
    return asked.canMergeSchema() && TypeWidening.isEnabled(table.protocol(), table.metadata())
        ? new TypeWideningMode.TypeEvolution(
            UniversalFormat.icebergEnabled(table.metadata()),
            DeltaSQLConf$.MODULE$.AllowAutomaticWideningMode().fromConf(settings))
        : TypeWideningMode.NoTypeWidening$.MODULE$;
  }

  @Override
  public String toString() {
    return "qbeast[" + options.get("path") + "]";
  }
}
