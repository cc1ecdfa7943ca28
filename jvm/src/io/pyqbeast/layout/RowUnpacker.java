package io.pyqbeast.layout;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Takes the rows out of the packs that {@link RowPacker} made, and notes the target of each: {@link RowTargets}. */
final class RowUnpacker implements RowFunction {
  private static final long serialVersionUID = 1L;
  private static final int STRETCH = 1;
  private static final int ROWS = 2;

  private final int columns;
  private final int[] endsOfParts;

  /**
   * @param columns of a row
   * @param endsOfParts the largest weight of each part that a file may have, ascending
   */
  RowUnpacker(int columns, int[] endsOfParts) {
    this.columns = columns;
    this.endsOfParts = endsOfParts;
  }

  @Override
  public Iterator<InternalRow> apply(Iterator<InternalRow> packs, Values none) {
    return new Rows(packs);
  }

  private final class Rows implements Iterator<InternalRow> {
    private final Iterator<InternalRow> packs;
    private final RowTargets targets = RowTargets.ofTask();
    private final UnsafeRow row = new UnsafeRow(columns);
    private Object base;
    private long at;
    private long end;
    private long cube;
    private int stretch;

    Rows(Iterator<InternalRow> packs) {
      this.packs = packs;
      targets.expectParts(endsOfParts);
    }

    @Override
    public boolean hasNext() {
      return at < end || packs.hasNext();
    }

    @Override
    public InternalRow next() {
      if (at == end) {
        open();
      }
      int size = Platform.getInt(base, at);
      targets.add(cube, stretch, Platform.getInt(base, at + 4));
      row.pointTo(base, at + RowPacker.ROW_HEAD, size);
      at += RowPacker.ROW_HEAD + size;
      return row;
    }

    /** A pack is never empty. */
    private void open() {
      if (!packs.hasNext()) {
        throw new NoSuchElementException();
      }
      UnsafeRow pack = (UnsafeRow) packs.next();
      stretch = pack.getInt(STRETCH);
      long offsetAndSize = pack.getLong(ROWS);
      base = pack.getBaseObject();
      at = pack.getBaseOffset() + (offsetAndSize >>> 32);
      end = at + (int) offsetAndSize;
      cube = Platform.getLong(base, at);
      at += Long.BYTES;
    }
  }
}
