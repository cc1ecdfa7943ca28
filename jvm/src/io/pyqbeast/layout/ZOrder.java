package io.pyqbeast.layout;

import java.io.Serializable;

/** Where a point lies on the z-order curve, to 63 bits: the order of the rows inside a file. */
final class ZOrder implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int BITS = 63;

  private final int dimensions;
  private final int levels;
  private final double cells;

  /** For each byte, its bits with room for those of the other dimensions between them. */
  private final long[] spread = new long[256];

  ZOrder(int dimensions) {
    this.dimensions = dimensions;
    this.levels = BITS / dimensions;
    this.cells = Math.scalb(1.0, levels);
    for (int value = 0; value < spread.length; value++) {
      for (int bit = 0; bit < 8 && bit < levels; bit++) {
        spread[value] |= ((value >>> bit) & 1L) << (bit * dimensions);
      }
    }
  }

  /** The code of a point of the unit cube. */
  long of(double[] point) {
    long last = (1L << levels) - 1;
    long code = 0;
    for (double x : point) {
      long cell = Math.min((long) (x * cells), last);
      long bits = 0;
      for (int from = 0; from < levels; from += 8) {
        bits |= spread[(int) (cell >>> from) & 0xff] << (from * dimensions);
      }
      code = (code << 1) | bits;
    }
    return code;
  }
}
