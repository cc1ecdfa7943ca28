package io.pyqbeast.spark;

import java.net.URI;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat$;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTable$;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/** Entries of Spark's session catalog, as they are up to Spark 4.1. */
public final class CatalogEntry {
  private static final CatalogTable$ DEFAULTS = CatalogTable$.MODULE$;

  private CatalogEntry() {}

  /** A Delta table under a name; schema and properties are in its log. */
  public static CatalogTable of(TableIdentifier name, CatalogTableType type, URI location) {
    CatalogStorageFormat none = CatalogStorageFormat$.MODULE$.empty();
    CatalogStorageFormat storage =
        none.copy(
            Option.apply(location), none.inputFormat(), none.outputFormat(), none.serde(), none.compressed(),
            none.properties());
    return new CatalogTable(
        name, type, storage, new StructType(), Option.apply("delta"), DEFAULTS.apply$default$6(),
        DEFAULTS.apply$default$7(), DEFAULTS.apply$default$8(), DEFAULTS.apply$default$9(),
        DEFAULTS.apply$default$10(), DEFAULTS.apply$default$11(), DEFAULTS.apply$default$12(),
        DEFAULTS.apply$default$13(), DEFAULTS.apply$default$14(), DEFAULTS.apply$default$15(),
        DEFAULTS.apply$default$16(), DEFAULTS.apply$default$17(), DEFAULTS.apply$default$18(),
        DEFAULTS.apply$default$19(), DEFAULTS.apply$default$20(), DEFAULTS.apply$default$21());
  }

  /** The same entry under another provider. */
  public static CatalogTable withProvider(CatalogTable entry, String provider) {
    return with(entry, entry.schema(), Option.apply(provider));
  }

  /** The same entry of a table with other columns. */
  public static CatalogTable withColumns(CatalogTable entry, StructType columns) {
    return with(entry, columns, entry.provider());
  }

  private static CatalogTable with(CatalogTable entry, StructType columns, Option<String> provider) {
    return entry.copy(
        entry.identifier(), entry.tableType(), entry.storage(), columns, provider,
        entry.partitionColumnNames(), entry.bucketSpec(), entry.owner(), entry.createTime(), entry.lastAccessTime(),
        entry.createVersion(), entry.properties(), entry.stats(), entry.viewText(), entry.comment(),
        entry.collation(), entry.unsupportedFeatures(), entry.tracksPartitionsInCatalog(),
        entry.schemaPreservesCase(), entry.ignoredProperties(), entry.viewOriginalText());
  }
}
