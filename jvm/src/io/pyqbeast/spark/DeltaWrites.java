package io.pyqbeast.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.DeltaOptions$;
import org.apache.spark.sql.delta.NoMapping$;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.PreprocessTableUpdate;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.UniversalFormat$;
import org.apache.spark.sql.delta.UpdateExpressionsSupport;
import org.apache.spark.sql.delta.commands.CreateDeltaTableLikeShims$;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/** Delta's command for a write, and what its log says of writes. */
public final class DeltaWrites {
  /** The options by which some rows of the table give way to the new ones and others stay. */
  public static final List<String> REPLACING_PART =
      List.of(
          DeltaOptions$.MODULE$.REPLACE_WHERE_OPTION(), DeltaOptions$.MODULE$.REPLACE_ON_OPTION(),
          DeltaOptions$.MODULE$.REPLACE_USING_OPTION());

  private DeltaWrites() {}

  /** A write to a table without partitions. */
  public static WriteIntoDelta command(
      DeltaLog log, SaveMode mode, DeltaOptions options, Map<String, String> configuration, Dataset<Row> data) {
    return new WriteIntoDelta(
        log, mode, options, ScalaInterop.seq(List.of()), configuration, data, Option.empty(), Option.empty(),
        options.isReplaceOnOrUsingDefined());
  }

  /** The columns of a stream cast to other types, as Delta's sink does: by {@code spark.sql.storeAssignmentPolicy}. */
  public static Dataset<Row> cast(org.apache.spark.sql.classic.SparkSession session, Dataset<Row> rows, StructType types) {
    PreprocessTableUpdate casts = new PreprocessTableUpdate(session.sessionState().conf());
    UpdateExpressionsSupport.CastingBehavior byName = casts.CastByName().apply(true);
    LogicalPlan plan = Frames.plan(rows);
    List<NamedExpression> columns = new ArrayList<>();
    for (Attribute column : ScalaInterop.list(plan.output())) {
      String name = column.name();
      DataType type = types.apply(name).dataType();
      columns.add(LogicalPlans.named(casts.castIfNeeded(column, type, byName, name, Option.empty()), name));
    }
    return Frames.of(session, new Project(ScalaInterop.seq(columns), plan));
  }

  /** Whether a name is that of one of Delta's properties, which it knows in any case. */
  public static boolean isProperty(String name) {
    return name.toLowerCase(Locale.ROOT).startsWith("delta.");
  }

  /**
   * Properties of a new table, with those that they need and the user has not named: readers of Iceberg need the columns to
   * be mapped by name. Delta adds them to what CREATE TABLE says, and not to what a write does.
   *
   * @param before the log's snapshot without a version
   */
  public static Map<String, String> ofNewTable(SparkSession session, Snapshot before, Map<String, String> properties) {
    CatalogTable place =
        CatalogEntry.of(
            new TableIdentifier("table"), CatalogTableType.EXTERNAL(), before.deltaLog().dataPath().toUri());
    return UniversalFormat$.MODULE$.enforceDependenciesInConfiguration(session, place, properties, before);
  }

  /** Whether a write has one of {@link #REPLACING_PART}. */
  public static boolean replacesPart(DeltaOptions options) {
    return options.isReplaceOnOrUsingDefined() || options.replaceWhere().isDefined();
  }

  /** What the history calls a write. */
  public static DeltaOperations.Operation operation(SaveMode mode, DeltaOptions options) {
    Option<Object> merges = options.canMergeSchema() ? Option.apply(true) : Option.empty();
    Option<Object> overwrites = options.canOverwriteSchema() ? Option.apply(true) : Option.empty();
    return new DeltaOperations.Write(
        mode, Option.apply(ScalaInterop.seq(List.of())), options.replaceWhere(), options.userMetadata(),
        Option.empty(), overwrites, merges, options.replaceOn(), options.replaceUsing());
  }

  /** How many letters the folders have that Delta spreads the files of a write over; none where it makes no folders. */
  public static Option<Object> lengthOfFolders(OptimisticTransaction write) {
    boolean spreads =
        write.org$apache$spark$sql$delta$files$TransactionalWrite$$randomizeFilePrefixes()
            || write.metadata().columnMappingMode() != NoMapping$.MODULE$;
    return spreads
        ? Option.apply(write.org$apache$spark$sql$delta$files$TransactionalWrite$$randomPrefixLength())
        : Option.empty();
  }

  /** What the history calls a rewrite of rows that stay. */
  public static DeltaOperations.Operation rewrite() {
    return new DeltaOperations.Optimize(
        ScalaInterop.seq(List.of()), ScalaInterop.seq(List.of()), false, Option.empty(), false);
  }

  /**
   * Whether {@code saveAsTable} in mode overwrite is running with these options: it replaces the rows, and the table's metadata
   * stays. Delta finds that out in another way for each version of Spark.
   */
  public static boolean isSavedAsTable(java.util.Map<String, String> options) {
    DeltaOptions asked = new DeltaOptions(ScalaInterop.map(options), SQLConf.get());
    return CreateDeltaTableLikeShims$.MODULE$.isV1WriterSaveAsTableOverwrite(asked, SaveMode.Overwrite);
  }
}
