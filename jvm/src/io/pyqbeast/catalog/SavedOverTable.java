package io.pyqbeast.catalog;

import io.pyqbeast.spark.DeltaWrites;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/**
 * What Delta is about to put in the place of an indexed table. {@code saveAsTable} in mode overwrite replaces the rows alone
 * and says so only with the rows. Then these go through the index, as those of mode append do; all else is Delta's to replace.
 */
public final class SavedOverTable implements StagedTable, SupportsWrite {
  private final StagedTable byDelta;
  private final Supplier<StagedIndexedTable> indexed;
  private StagedTable chosen;

  /** @param indexed the same replacement, through the index */
  public SavedOverTable(StagedTable byDelta, Supplier<StagedIndexedTable> indexed) {
    this.byDelta = byDelta;
    this.indexed = indexed;
    this.chosen = byDelta;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    if (DeltaWrites.isSavedAsTable(info.options().asCaseSensitiveMap())) {
      chosen = indexed.get();
    }
    return ((SupportsWrite) chosen).newWriteBuilder(info);
  }

  @Override
  public void commitStagedChanges() {
    chosen.commitStagedChanges();
  }

  @Override
  public void abortStagedChanges() {
    chosen.abortStagedChanges();
  }

  @Override
  public String name() {
    return byDelta.name();
  }

  @Override
  @Deprecated
  public StructType schema() {
    return CatalogV2Util.v2ColumnsToStructType(byDelta.columns());
  }

  @Override
  public Column[] columns() {
    return byDelta.columns();
  }

  @Override
  public Transform[] partitioning() {
    return byDelta.partitioning();
  }

  @Override
  public Map<String, String> properties() {
    return byDelta.properties();
  }

  @Override
  public Set<TableCapability> capabilities() {
    return byDelta.capabilities();
  }
}
