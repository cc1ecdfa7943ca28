package io.pyqbeast.parquet;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;

/** Writes the rows of one file as Spark does, and begins a row group wherever a part of the file begins. */
public final class PartWriter extends ParquetWriteSupport {
  private final PartEnds parts = new PartEnds(this);

  @Override
  public void write(InternalRow row) {
    parts.beforeRow();
    super.write(row);
  }
}
