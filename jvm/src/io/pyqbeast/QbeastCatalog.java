package io.pyqbeast;

import io.pyqbeast.catalog.Alteration;
import io.pyqbeast.catalog.IndexedTable;
import io.pyqbeast.catalog.OptimizeProcedure;
import io.pyqbeast.catalog.SavedOverTable;
import io.pyqbeast.catalog.StagedIndexedTable;
import io.pyqbeast.catalog.StatedPlace;
import io.pyqbeast.catalog.TableDefinition;
import io.pyqbeast.errors.Door;
import io.pyqbeast.errors.Landed;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.spark.CatalogEntry;
import io.pyqbeast.spark.Snapshots;
import java.net.URI;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.delta.DeltaErrors$;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.catalog.DeltaCatalog;
import org.apache.spark.sql.delta.commands.TableCreationModes;
import org.apache.spark.sql.delta.hooks.UpdateCatalogFactory$;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/**
 * Delta's catalog, extended so that {@code USING qbeast} makes an indexed table. The metastore lists such a table as
 * a Delta table, so that other engines can read it.
 */
@SuppressWarnings("overrides") // Scala drops the three dots of a parameter that Spark declares with them
public final class QbeastCatalog extends DeltaCatalog implements ProcedureCatalog {

  /** The names that Spark's session catalog takes, whatever metastore is behind it. */
  private static final Pattern CATALOG_NAME = Pattern.compile("\\w+");

  /** A table that a session without this catalog has listed under our name is one of Delta's all the same. */
  @Override
  public Table loadTable(Identifier name) {
    Table found = super.loadTable(name);
    return found instanceof V1Table listed && IndexedTable.isListed(listed.catalogTable())
        ? loadCatalogTable(name, CatalogEntry.withProvider(listed.catalogTable(), "delta"))
        : IndexedTable.of(found); // beside a session catalog that is Delta's own
  }

  @Override
  public Table loadCatalogTable(Identifier name, CatalogTable table) {
    return IndexedTable.of(super.loadCatalogTable(name, table));
  }

  @Override
  public Table loadPathTable(Identifier name) {
    return IndexedTable.of(super.loadPathTable(name));
  }

  /** The session that asks. That of Delta's own field was active when the catalog was loaded. */
  private static SparkSession session() {
    return SparkSession.active();
  }

  /**
   * Under another name than that of the session catalog, this catalog shows the session catalog's databases and
   * tables.
   */
  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    super.initialize(name, options);
    if (!name.equals("spark_catalog")) {
      setDelegateCatalog(spark().sessionState().catalogManager().v2SessionCatalog());
    }
  }

  @Override
  public Table createTable(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    Map<String, String> all =
        isOurs(properties)
            ? indexed(name, schema, partitions, placed(name, properties), SaveMode.ErrorIfExists)
            : properties;
    return super.createTable(name, schema, partitions, all);
  }

  @Override
  public StagedTable stageCreate(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    return isOurs(properties)
        ? staged(name, schema, partitions, properties, SaveMode.ErrorIfExists)
        : super.stageCreate(name, schema, partitions, properties);
  }

  @Override
  public StagedTable stageReplace(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    if (isOurs(properties)) {
      return staged(name, schema, partitions, properties, SaveMode.Overwrite);
    }
    listAsDelta(name);
    return overIndexed(name, schema, partitions, properties, super.stageReplace(name, schema, partitions, properties));
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties) {
    if (isOurs(properties)) {
      return staged(name, schema, partitions, properties, SaveMode.Overwrite);
    }
    listAsDelta(name);
    return overIndexed(
        name, schema, partitions, properties, super.stageCreateOrReplace(name, schema, partitions, properties));
  }

  /** What Delta has staged, aware of the index where an indexed table has the name. */
  private StagedTable overIndexed(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties, StagedTable byDelta) {
    boolean isDelta = DeltaSourceUtils.isDeltaDataSourceName(properties.get(TableCatalog.PROP_PROVIDER));
    return isDelta && tableExists(name) && loadTable(name) instanceof IndexedTable table && table.hasReadableIndex()
        ? new SavedOverTable(byDelta, () -> staged(name, schema, partitions, properties, SaveMode.Overwrite))
        : byDelta;
  }

  @Override
  public Table alterTable(Identifier name, TableChange[] changes) {
    TableDefinition asked = Alteration.definition(changes);
    return super.alterTable(
        name,
        Arrays.stream(changes).anyMatch(Alteration::mayConcernIndex)
                && loadTable(name) instanceof IndexedTable table
                && table.hasReadableIndex()
            ? new Alteration(session(), name, table, asked).checked(changes)
            : changes);
  }

  /** {@code qbeast.`/path`} names the same table as {@code delta.`/path`}. */
  @Override
  public boolean isPathIdentifier(Identifier name) {
    boolean ours = name.namespace().length == 1 && IndexedTable.PROVIDER.equalsIgnoreCase(name.namespace()[0]);
    return super.isPathIdentifier(ours ? Identifier.of(new String[] {"delta"}, name.name()) : name);
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier name) {
    if (!OptimizeProcedure.NAME.equals(name)) {
      throw new Refusal("there is no procedure " + name + "; there is " + OptimizeProcedure.NAME);
    }
    return new OptimizeProcedure();
  }

  // No @Override: Spark 4.0 does not list procedures.
  public Identifier[] listProcedures(String[] namespace) {
    boolean ours = Arrays.equals(namespace, OptimizeProcedure.NAME.namespace());
    return ours ? new Identifier[] {OptimizeProcedure.NAME} : new Identifier[0];
  }

  private static boolean isOurs(Map<String, String> properties) {
    return IndexedTable.PROVIDER.equalsIgnoreCase(properties.get(TableCatalog.PROP_PROVIDER));
  }

  /**
   * The properties of a Delta table that is indexed from its first row on. A statement without columns names a table
   * that exists, so its index is settled already, as it is where a statement with columns names the place of one.
   */
  private Map<String, String> indexed(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties, SaveMode mode) {
    check(name, partitions);
    TableDefinition definition = TableDefinition.of(properties);
    Map<String, String> all = new HashMap<>(definition.properties());
    for (String key : new String[] {TableCatalog.PROP_LOCATION, TableCatalog.PROP_OWNER, TableCatalog.PROP_EXTERNAL}) {
      if (properties.containsKey(key)) {
        all.put(key, properties.get(key));
      }
    }
    all.put(TableCatalog.PROP_PROVIDER, "delta");
    String location = properties.get(TableCatalog.PROP_LOCATION);
    if (schema.isEmpty()) {
      checkIndexOf(location, name, definition);
      return all;
    }
    Map<String, String> index = index(name, schema, definition);
    if (mode == SaveMode.Overwrite || !IndexedTable.liesAt(session(), location, index)) {
      all.putAll(index);
    }
    return all;
  }

  private Map<String, String> index(Identifier name, StructType columns, TableDefinition definition) {
    return definition.index(session(), name.toString(), columns);
  }

  /**
   * Refuses a table that is not indexed, or not by the columns that the statement names. Where none is, Delta refuses. It
   * looks there without the options of the statement, as its CREATE TABLE does.
   */
  private void checkIndexOf(String location, Identifier name, TableDefinition definition) {
    StructType columns = IndexedTable.columnsAt(session(), location);
    if (columns.isEmpty()) {
      return;
    }
    Map<String, String> asked = definition.namesColumns() ? index(name, columns, definition) : Map.of();
    if (!IndexedTable.liesAt(session(), location, asked)) {
      throw new Refusal(
          "the table at " + location + " is not indexed: call pyqbeast.convert on it first, or register it as it is"
              + " with USING delta");
    }
  }

  /** Spark asks for a staged table also where no rows follow; {@code StagedIndexedTable} tells the two apart. */
  private StagedIndexedTable staged(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> stated, SaveMode mode) {
    check(name, partitions);
    Map<String, String> properties = placed(name, stated);
    String location = location(name, properties);
    TableDefinition definition = TableDefinition.of(properties);
    if (mode == SaveMode.ErrorIfExists && !IndexedTable.mayLieAt(session(), location, definition.options())) {
      throw Door.unchecked(DeltaErrors$.MODULE$.createTableWithNonEmptyLocation(name.toString(), location));
    }
    Runnable register = () -> {};
    if (!isPathIdentifier(name)) {
      CatalogTable entry = entry(name, properties, location);
      register =
          () -> {
            listAsDelta(name);
            registerOnce(name, entry);
          };
    }
    return new StagedIndexedTable(
        name.toString(), schema, location, definition, mode, register,
        () -> withoutRows(name, schema, partitions, properties, mode));
  }

  private StagedTable withoutRows(
      Identifier name, StructType schema, Transform[] partitions, Map<String, String> properties, SaveMode mode) {
    Map<String, String> all = indexed(name, schema, partitions, properties, mode);
    listAsDelta(name);
    return mode == SaveMode.Overwrite
        ? super.stageCreateOrReplace(name, schema, partitions, all)
        : super.stageCreate(name, schema, partitions, all);
  }

  /** Refuses what the catalog would refuse only after the rows are written, and partitions. */
  private void check(Identifier name, Transform[] partitions) {
    if (!isPathIdentifier(name) && !CATALOG_NAME.matcher(name.name()).matches()) {
      throw Door.unchecked(QueryCompilationErrors.invalidNameForTableOrDatabaseError(name.name()));
    }
    if (partitions.length > 0) {
      throw new Refusal(
          "an indexed table cannot be partitioned or clustered: leave PARTITIONED BY or CLUSTER BY out of " + name);
    }
  }

  /** The properties of a statement whose location is in full: that of the rows is that of the name. */
  private Map<String, String> placed(Identifier name, Map<String, String> properties) {
    if (isPathIdentifier(name) || !properties.containsKey(TableCatalog.PROP_LOCATION)) {
      return properties;
    }
    Map<String, String> placed = new HashMap<>(properties);
    placed.computeIfPresent(
        TableCatalog.PROP_LOCATION, (key, stated) -> StatedPlace.whole(catalog(), identifier(name), stated));
    return placed;
  }

  /** Where a table lies or will lie. As with Delta's own tables, no statement may name another place for it. */
  private String location(Identifier name, Map<String, String> properties) {
    String stated = properties.get(TableCatalog.PROP_LOCATION);
    if (isPathIdentifier(name)) {
      if (stated != null && !StatedPlace.areSame(session(), place(stated), place(name.name()))) {
        throw Door.unchecked(DeltaErrors$.MODULE$.ambiguousPathsInCreateTableException(name.name(), stated));
      }
      return name.name();
    }
    Option<CatalogTable> existing = existing(name);
    if (existing.isEmpty()) {
      return stated != null ? stated : CatalogUtils.URIToString(catalog().defaultTablePath(identifier(name)));
    }
    if (stated != null && !StatedPlace.areSame(session(), place(stated), existing.get().location())) {
      throw Door.unchecked(DeltaErrors$.MODULE$.tableLocationMismatch(entry(name, properties, stated), existing.get()));
    }
    return CatalogUtils.URIToString(existing.get().location());
  }

  private static URI place(String location) {
    return CatalogUtils.stringToURI(location);
  }

  private CatalogTable entry(Identifier name, Map<String, String> properties, String location) {
    boolean external = properties.containsKey(TableCatalog.PROP_LOCATION);
    return CatalogEntry.of(
        identifier(name), external ? CatalogTableType.EXTERNAL() : CatalogTableType.MANAGED(),
        CatalogUtils.stringToURI(location));
  }

  /** Fails where another table has got the name meanwhile. */
  private void registerOnce(Identifier name, CatalogTable entry) {
    Option<CatalogTable> existing = existing(name);
    if (existing.isEmpty() || !existing.get().location().equals(entry.location())) {
      catalog().createTable(entry, false, false);
    } else if (!existing.get().schema().isEmpty()) {
      Landed.quietly(entry.location(), () -> tellColumns(existing.get()));
    }
  }

  /**
   * Gives an entry that tells of columns those of the table, as Delta does when it replaces one: streams read them there.
   * Hive takes them from one of the two calls that Delta makes, and a catalog in memory from the other.
   */
  private void tellColumns(CatalogTable entry) {
    Snapshot table = Snapshots.newest(DeltaLog.forTable(session(), new Path(entry.location())));
    CatalogTable told = CatalogEntry.withColumns(entry, table.schema());
    UpdateCatalogFactory$.MODULE$.getUpdateCatalogHook(told, session()).updateSchema(session(), table);
  }

  private Option<CatalogTable> existing(Identifier name) {
    if (!catalog().tableExists(identifier(name))) {
      return Option.empty();
    }
    CatalogTable entry = listed(name);
    return IndexedTable.isListed(entry)
        ? Option.apply(CatalogEntry.withProvider(entry, "delta"))
        : getExistingTableIfExists(identifier(name), Option.apply(name), TableCreationModes.Create$.MODULE$);
  }

  private CatalogTable listed(Identifier name) {
    try {
      return catalog().getTableMetadata(identifier(name));
    } catch (Exception e) { // Scala's methods do not declare what they throw
      throw Door.unchecked(e);
    }
  }

  /** Lists a table of our name under Delta's before it is replaced. Delta replaces no other, and says to drop it. */
  private void listAsDelta(Identifier name) {
    if (isPathIdentifier(name) || !catalog().tableExists(identifier(name))) {
      return;
    }
    CatalogTable entry = listed(name);
    if (IndexedTable.isListed(entry)) {
      catalog().alterTable(CatalogEntry.withProvider(entry, "delta"));
    }
  }

  private static TableIdentifier identifier(Identifier name) {
    String[] namespace = name.namespace();
    Option<String> database = namespace.length == 0 ? Option.empty() : Option.apply(namespace[namespace.length - 1]);
    return new TableIdentifier(name.name(), database);
  }
}
