package io.pyqbeast.spark;

import org.apache.spark.sql.connector.catalog.SupportsV1OverwriteWithSaveAsTable;

/**
 * A source of tables.
 *
 * <p>This one asks Spark to say of a {@code saveAsTable} in mode overwrite that it is one: that replaces rows alone.
 */
public interface TableSource extends SupportsV1OverwriteWithSaveAsTable {}
