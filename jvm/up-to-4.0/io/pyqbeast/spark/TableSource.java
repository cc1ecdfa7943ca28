package io.pyqbeast.spark;

import org.apache.spark.sql.connector.catalog.TableProvider;

/**
 * A source of tables.
 *
 * <p>Spark 4.0 does not say of a {@code saveAsTable} that it is one, and Delta finds out by itself. An interface that asks for
 * it is in Delta's jar alone, which a session need not have.
 */
public interface TableSource extends TableProvider {}
