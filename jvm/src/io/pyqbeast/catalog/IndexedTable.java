package io.pyqbeast.catalog;

import io.pyqbeast.errors.Refusal;
import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.format.Constants;
import io.pyqbeast.format.HashedColumns;
import io.pyqbeast.format.IndexOptions;
import io.pyqbeast.format.StoredIndex;
import io.pyqbeast.format.StoredRevision;
import io.pyqbeast.spark.CatalogEntry;
import io.pyqbeast.spark.ScalaInterop;
import io.pyqbeast.spark.Snapshots;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaTimeTravelSpec;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaTableV2;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * A Delta table whose inserts go through the index if the table is indexed. Any commit can change whether it is. So
 * this is looked up when a write begins, and not when the table is loaded.
 */
public final class IndexedTable extends DeltaTableV2 {
  /** The name that {@code USING} takes. */
  public static final String PROVIDER = "qbeast";

  private IndexedTable(
      SparkSession session,
      Path path,
      Option<CatalogTable> catalogTable,
      Option<String> identifier,
      Option<DeltaTimeTravelSpec> timeTravel,
      scala.collection.immutable.Map<String, String> options) {
    super(session, path, catalogTable, identifier, timeTravel, options);
  }

  /** The same table, if it is one of Delta's. */
  public static Table of(Table table) {
    return table.getClass() == DeltaTableV2.class ? of((DeltaTableV2) table) : table;
  }

  /** Whether an entry of the session catalog is listed under our name. */
  public static boolean isListed(CatalogTable entry) {
    return entry.provider().exists(ScalaInterop.predicate(PROVIDER::equalsIgnoreCase));
  }

  /**
   * Whether an indexed table lies at a place that a statement names for a table; null for none.
   *
   * @param index the configuration entries that the statement asks for; empty for whatever index there is
   * @throws Refusal where the table is indexed by other columns, or hashes others beside them
   */
  public static boolean liesAt(SparkSession session, String location, Map<String, String> index) {
    if (location == null) {
      return false;
    }
    HashedColumns held = HashedColumns.of(at(session, location).metadata());
    HashedColumns asked = HashedColumns.of(ScalaInterop.map(index));
    if (!held.isEmpty() && !index.isEmpty() && !held.equals(asked)) {
      throw new Refusal(
          "the table at " + location + " " + difference(held, asked) + ": name its own columns in columnsToIndex and"
              + " weightColumns, or leave all columns of the table out of the statement");
    }
    return !held.isEmpty();
  }

  private static String difference(HashedColumns held, HashedColumns asked) {
    List<String> differences = new ArrayList<>();
    if (!held.indexed().equals(asked.indexed())) {
      differences.add("is indexed by " + held.indexed() + " and not by " + asked.indexed());
    }
    if (!held.weightColumns().equals(asked.weightColumns())) {
      differences.add("has the weightColumns " + held.weightColumns() + " and not " + asked.weightColumns());
    }
    return String.join(", and ", differences);
  }

  private static Snapshot at(SparkSession session, String location) {
    return Snapshots.newest(DeltaLog.forTable(session, new Path(location)));
  }

  /** The columns of the Delta table at a place; none where there is no table, or no place is named. */
  public static StructType columnsAt(SparkSession session, String location) {
    return location == null ? new StructType() : at(session, location).schema();
  }

  /**
   * Whether a new table may take a place, by Delta's rule: VACUUM would delete what lies there and is none of its files.
   * A log without a version is that of a write that failed. Options of Hadoop say how to reach the place.
   */
  public static boolean mayLieAt(SparkSession session, String location, Map<String, String> options) {
    DeltaLog log = DeltaLog.forTable(session, new Path(location), ScalaInterop.map(options));
    try {
      Path place = log.dataPath();
      FileSystem files = place.getFileSystem(log.newDeltaHadoopConf());
      return files.exists(log.logPath()) || !files.exists(place) || files.listStatus(place).length == 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static IndexedTable of(DeltaTableV2 delta) {
    return new IndexedTable(
        delta.spark(), delta.path(), delta.catalogTable(), delta.tableIdentifier(), delta.timeTravelOpt(),
        delta.options());
  }

  /** The indexed columns, in order. */
  public List<String> indexedColumns() {
    return hashedColumns().indexed();
  }

  /** Whether the column of this name, in any case, is an indexed one. */
  public boolean isIndexedBy(String column) {
    return ColumnNames.isAmong(indexedColumns(), column);
  }

  /** Whether the column of this name, in any case, is one of the weight columns. */
  public boolean isWeightColumn(String column) {
    return ColumnNames.isAmong(hashedColumns().weightColumns(), column);
  }

  /** Whether configuration entries of an index have the columns of this table's, each of the same kind. */
  public boolean isIndexedAs(Map<String, String> index) {
    return HashedColumns.transformers(configuration()).equals(HashedColumns.transformers(ScalaInterop.map(index)));
  }

  /** Whether configuration entries of an index have the weight columns of this table's. */
  public boolean isWeighedAs(Map<String, String> index) {
    HashedColumns asked = HashedColumns.of(ScalaInterop.map(index));
    return !asked.isEmpty() && hashedColumns().weightColumns().equals(asked.weightColumns());
  }

  /** Whether configuration entries of an index have the fractions that this table's rows are cut at. */
  public boolean isCutAs(Map<String, String> index) {
    String asked = index.get(Constants.SAMPLE_FRACTIONS);
    return asked != null && configuration().get(Constants.SAMPLE_FRACTIONS).contains(asked);
  }

  /** Whether configuration entries of an index state the bounds that one of this table's revisions has. */
  public boolean hasBoundsOf(Map<String, String> index) {
    return StoredRevision.bounds(ScalaInterop.map(configuration())).containsAll(StoredRevision.bounds(index))
        && !index.isEmpty();
  }

  private scala.collection.immutable.Map<String, String> configuration() {
    return initialSnapshot().metadata().configuration();
  }

  /** The columns that are hashed, by their names of today. */
  public HashedColumns hashedColumns() {
    return HashedColumns.of(initialSnapshot().metadata());
  }

  /** A write that asks for an index goes its way also where there is none, and is told so: Delta would not hear of it. */
  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    boolean asksForIndex = info.options().keySet().stream().anyMatch(key -> IndexOptions.nameOf(key).isPresent());
    if (!hasReadableIndex() && !asksForIndex || timeTravelOpt().isDefined()) {
      return super.newWriteBuilder(info);
    }
    Map<String, String> own = new HashMap<>(ScalaInterop.map(deltaLog().options())); // how Hadoop reaches the table
    own.put("path", deltaLog().dataPath().toString());
    return new IndexedWrite(own, info);
  }

  /** See {@link StoredIndex}: to SQL a table whose index is damaged is a plain one of Delta's. */
  public boolean hasReadableIndex() {
    return StoredIndex.isReadableIn(initialSnapshot().metadata());
  }

  /** Spark compares the format of a stream that writes to a table with the provider of its entry. */
  @Override
  public CatalogTable v1Table() {
    CatalogTable entry = super.v1Table();
    return hasReadableIndex() ? CatalogEntry.withProvider(entry, PROVIDER) : entry;
  }

  @Override
  public DeltaTableV2 copy(
      SparkSession session,
      Path path,
      Option<CatalogTable> catalogTable,
      Option<String> identifier,
      Option<DeltaTimeTravelSpec> timeTravel,
      scala.collection.immutable.Map<String, String> options) {
    return new IndexedTable(session, path, catalogTable, identifier, timeTravel, options);
  }
}
