package io.pyqbeast;

import io.pyqbeast.catalog.QbeastSink;
import io.pyqbeast.commit.LegacyTableGuard;
import io.pyqbeast.commit.CachedRows;
import io.pyqbeast.errors.Landed;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.TableSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.execution.datasources.DataSourceUtils$;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.execution.streaming.Source;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.CreatableRelationProvider;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.sources.StreamSourceProvider;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;

/**
 * The data source {@code qbeast}: reads as Delta does and writes through Python.
 *
 * <p>It asks Delta's source instead of extending it. Spark loads every registered source whenever it looks one up, and a
 * class whose parent is missing would break all formats in a session that has our jar and not Delta's.
 */
public final class QbeastDataSource
    implements DataSourceRegister,
        TableSource,
        RelationProvider,
        CreatableRelationProvider,
        StreamSourceProvider,
        StreamSinkProvider {

  /** Where Spark names the columns of {@code partitionBy} and {@code clusterBy}. */
  private static final List<String> LAYOUTS =
      List.of(
          DataSourceUtils$.MODULE$.PARTITIONING_COLUMNS_KEY(), DataSourceUtils$.MODULE$.CLUSTERING_COLUMNS_KEY());

  /** Delta's source, in a class of its own so that it is loaded when it is needed and not before. */
  private static final class Delta {
    static final org.apache.spark.sql.delta.sources.DeltaDataSource SOURCE =
        new org.apache.spark.sql.delta.sources.DeltaDataSource();

    /**
     * The table at a path, in the version that this process knows already. A commit has just listed the log, so the
     * log is not listed again: that could fail, although the write has landed.
     */
    static BaseRelation known(SQLContext context, String path, Map<String, String> options) {
      return log(context, path, options)
          .createRelation(ScalaInterop.seq(List.of()), Option.empty(), Option.empty(), false);
    }

    static DeltaLog log(SQLContext context, String path, Map<String, String> options) {
      return DeltaLog.forTable(context.sparkSession(), new Path(path), ScalaInterop.map(options));
    }
  }

  @Override
  public String shortName() {
    return "qbeast";
  }

  /** What errors of Spark call this source. */
  @Override
  public String toString() {
    return "Qbeast";
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return Delta.SOURCE.inferSchema(options);
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return Delta.SOURCE.getTable(schema, partitioning, properties);
  }

  @Override
  public BaseRelation createRelation(
      SQLContext context, scala.collection.immutable.Map<String, String> parameters) {
    return Delta.SOURCE.createRelation(context, parameters);
  }

  @Override
  public BaseRelation createRelation(
      SQLContext context,
      SaveMode mode,
      scala.collection.immutable.Map<String, String> parameters,
      Dataset<Row> data) {
    Map<String, String> options = new HashMap<>(ScalaInterop.map(parameters));
    refuseLayout(LAYOUTS.stream().anyMatch(options::containsKey));
    String path = options.get("path");
    Bridge.write(mode, options, data);
    CachedRows.refresh(data.sparkSession(), path, options);
    try {
      return Delta.known(context, path, options);
    } catch (Throwable e) {
      Landed.logLaterFailure(path, e);
      return new Unknown(context, data.schema());
    }
  }

  private static void refuseLayout(boolean isAsked) {
    if (isAsked) {
      throw new Refusal("an indexed table cannot be partitioned or clustered: leave partitionBy and clusterBy out");
    }
  }

  /**
   * Stands for a written table that cannot be opened. Spark compares it with the tables in its cache and finds none
   * alike.
   */
  private static final class Unknown extends BaseRelation {
    private final SQLContext context;
    private final StructType schema;

    Unknown(SQLContext context, StructType schema) {
      this.context = context;
      this.schema = schema;
    }

    @Override
    public SQLContext sqlContext() {
      return context;
    }

    @Override
    public StructType schema() {
      return schema;
    }
  }

  @Override
  public boolean supportsDataType(DataType type) {
    return Delta.SOURCE.supportsDataType(type);
  }

  @Override
  public Tuple2<String, StructType> sourceSchema(
      SQLContext context,
      Option<StructType> schema,
      String provider,
      scala.collection.immutable.Map<String, String> parameters) {
    return Delta.SOURCE.sourceSchema(context, schema, provider, parameters);
  }

  @Override
  public Source createSource(
      SQLContext context,
      String metadataPath,
      Option<StructType> schema,
      String provider,
      scala.collection.immutable.Map<String, String> parameters) {
    String path = ScalaInterop.map(parameters).get("path");
    if (path != null) {
      LegacyTableGuard.checkStream(Delta.log(context, path, ScalaInterop.map(parameters)));
    }
    return Delta.SOURCE.createSource(context, metadataPath, schema, provider, parameters);
  }

  @Override
  public Sink createSink(
      SQLContext context,
      scala.collection.immutable.Map<String, String> parameters,
      Seq<String> partitions,
      OutputMode mode) {
    if (mode == OutputMode.Update()) {
      throw new Refusal("a stream is written in output mode append or complete, not update");
    }
    Map<String, String> options = new HashMap<>(ScalaInterop.map(parameters));
    refuseLayout(!partitions.isEmpty() || LAYOUTS.stream().anyMatch(options::containsKey));
    SaveMode each = mode == OutputMode.Complete() ? SaveMode.Overwrite : SaveMode.Append;
    return new QbeastSink(options, each);
  }
}
