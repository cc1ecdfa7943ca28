package io.pyqbeast.catalog;

import io.pyqbeast.commit.CachedRows;
import io.pyqbeast.errors.Refusal;
import io.pyqbeast.python.Bridge;
import io.pyqbeast.spark.DeltaWrites;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsOverwrite;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.delta.ColumnWithDefaultExprUtils;
import org.apache.spark.sql.delta.DeltaOptions$;
import org.apache.spark.sql.delta.sources.DeltaSourceUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.InsertableRelation;

/**
 * A write to an indexed table through Spark's catalog. It differs from a write through the data source in one way: by
 * Spark's settings a column that the rows lack may become null, and a generated column may be computed from that
 * null.
 */
final class IndexedWrite implements WriteBuilder, SupportsOverwrite, SupportsTruncate {
  private final Map<String, String> options = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
  private SaveMode mode = SaveMode.Append;

  /** @param own options of the table itself, which those of the write cannot change */
  IndexedWrite(Map<String, String> own, LogicalWriteInfo info) {
    options.putAll(info.options().asCaseSensitiveMap());
    options.putAll(own);
    if (SQLConf.get().useNullsForMissingDefaultColumnValues()) {
      options.put(ColumnWithDefaultExprUtils.USE_NULL_AS_DEFAULT_DELTA_OPTION(), "true");
    }
  }

  @Override
  public WriteBuilder truncate() {
    mode = SaveMode.Overwrite;
    return this;
  }

  @Override
  public WriteBuilder overwrite(Filter[] filters) {
    for (String other : DeltaWrites.REPLACING_PART) {
      if (options.containsKey(other)) {
        throw new Refusal("an overwrite of the rows that meet a condition goes without the option " + other);
      }
    }
    options.put(DeltaOptions$.MODULE$.REPLACE_WHERE_OPTION(), DeltaSourceUtils.translateFilters(filters).sql());
    return truncate();
  }

  @Override
  public V1Write build() {
    return new V1Write() {
      @Override
      public InsertableRelation toInsertableRelation() {
        return (rows, overwrite) -> {
          Bridge.write(mode, options, rows);
          CachedRows.refresh(rows.sparkSession(), options.get("path"), options);
        };
      }
    };
  }
}
