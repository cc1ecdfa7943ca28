package io.pyqbeast.parquet;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.delta.DeltaParquetWriteSupport;

/**
 * The same as {@link PartWriter} for a table that readers of Iceberg share: Delta numbers the elements of lists and maps
 * for them.
 */
public final class DeltaPartWriter extends DeltaParquetWriteSupport {
  private final PartEnds parts = new PartEnds(this);

  @Override
  public void write(InternalRow row) {
    parts.beforeRow();
    super.write(row);
  }
}
