package io.pyqbeast.spark;

import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.implicits.package$;
import org.apache.spark.sql.delta.stats.DeltaScan;
import org.apache.spark.sql.internal.SQLConf;
import scala.collection.immutable.Seq;

/**
 * A snapshot whose files, with their statistics, lie in the driver's memory. Delta's own code chooses the files of a
 * scan, but its query over them reads local rows, which Spark's optimizer evaluates at once: no job runs.
 */
public final class DriverSnapshot extends Snapshot {
  private final Files files;

  /** The files of a snapshot, as plans of local rows that belong to no session. */
  public static final class Files {
    private final LogicalPlan all;
    private volatile LogicalPlan withStatistics;

    public Files(List<AddFile> files) {
      all = session().createDataset(files, encoder()).queryExecution().analyzed();
    }

    /** The snapshot that has these files. Without a checksum its metadata takes a job. */
    public DriverSnapshot of(Snapshot snapshot) {
      return new DriverSnapshot(snapshot, this);
    }
  }

  private DriverSnapshot(Snapshot like, Files files) {
    super(like.path(), like.version(), like.logSegment(), like.deltaLog(), like.checksumOpt());
    this.files = files;
    uncache(); // else Delta would put the parsed statistics into a cache of Spark's, by a job
  }

  @Override
  public Dataset<AddFile> allFiles() {
    return rows(files.all).as(encoder());
  }

  @Override
  public Dataset<Row> withStatsInternal() {
    if (files.withStatistics == null) {
      // Sessions share what is parsed, and one that parses times by the old policy takes old moments for other ones.
      SQLConf exact = SQLConf.get().clone();
      exact.setConfString(SQLConf.LEGACY_TIME_PARSER_POLICY().key(), "CORRECTED");
      files.withStatistics = SQLConf.withExistingConf(exact, ScalaInterop.supplier(this::parsed));
    }
    return rows(files.withStatistics);
  }

  /** The optimizer parses the statistics where they lie, so that only the first scan pays for it. */
  private LogicalPlan parsed() {
    Dataset<Row> parsed = WidenedFloats.bounded(super.withStatsInternal(), metadata().schema());
    return Frames.query(parsed).optimizedPlan();
  }

  /** Nothing is compiled for the filters, which takes longer than to interpret them for so few rows. */
  @Override
  public DeltaScan filesForScan(Seq<Expression> filters, boolean keepNumRecords) {
    SQLConf interpreted = session().sessionState().conf().clone();
    interpreted.setConfString(SQLConf.CODEGEN_FACTORY_MODE().key(), "NO_CODEGEN");
    return SQLConf.withExistingConf(
        interpreted, ScalaInterop.supplier(() -> super.filesForScan(filters, keepNumRecords)));
  }

  private static Dataset<Row> rows(LogicalPlan plan) {
    return Dataset$.MODULE$.ofRows(session(), plan);
  }

  private static Encoder<AddFile> encoder() {
    return package$.MODULE$.addFileEncoder();
  }

  private static org.apache.spark.sql.classic.SparkSession session() {
    return (org.apache.spark.sql.classic.SparkSession) SparkSession.active();
  }
}
