package io.pyqbeast;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The tree of cubes that a write uses, as Python built it: sends a row to its cube and to the file of that cube.
 *
 * <p>A row goes down from the root along the cubes that contain its point and stays in the first whose largest weight
 * is not below the row's. Below a cube that has no child on the row's side, the row stays in that missing child. A cube
 * is a long: the node, and for a missing child its number among its siblings plus one.
 */
public final class Tree implements PointFunction {
  private static final long serialVersionUID = 1L;

  /** The cube of a row whose point lies outside the unit cube: it goes to a file without an index. */
  public static final long OUTSIDE = -1L;

  private static final int CHILD_BITS = 20;

  private final int[] largest;
  private final int[] bandStart;
  private final int[] bandWeight;
  private final int[] bandFile;
  private final int outsideFile;
  private final long[] keys;
  private final int[] nodes;

  private Tree(int[] parent, int[] child, int[] largest, int[] bandStart, int[] bandWeight, int[] bandFile, int files) {
    this.largest = largest;
    this.bandStart = bandStart;
    this.bandWeight = bandWeight;
    this.bandFile = bandFile;
    this.outsideFile = files;
    int capacity = Integer.highestOneBit(Math.max(4, parent.length)) * 4;
    this.keys = new long[capacity];
    this.nodes = new int[capacity];
    Arrays.fill(nodes, -1);
    for (int node = 1; node < parent.length; node++) {
      long key = ((long) parent[node] << CHILD_BITS) | child[node];
      int slot = slotOf(key);
      keys[slot] = key;
      nodes[slot] = node;
    }
  }

  /**
   * @param data little-endian ints: number of nodes n, of bands b and of files; then n parents, n child numbers, n
   *     largest weights, n + 1 starts of bands, b largest weights of bands, b files
   */
  public static Tree of(byte[] data) {
    ByteBuffer in = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
    int count = in.getInt();
    int bands = in.getInt();
    int files = in.getInt();
    return new Tree(
        ints(in, count), ints(in, count), ints(in, count), ints(in, count + 1), ints(in, bands), ints(in, bands), files);
  }

  private static int[] ints(ByteBuffer in, int count) {
    int[] values = new int[count];
    in.asIntBuffer().get(values);
    in.position(in.position() + 4 * count);
    return values;
  }

  @Override
  public long apply(double[] point, int weight) {
    for (double x : point) {
      if (!(x >= 0.0 && x <= 1.0)) {
        return OUTSIDE;
      }
    }
    int node = 0;
    while (weight > largest[node]) {
      int side = 0;
      for (int i = 0; i < point.length; i++) {
        double doubled = 2.0 * point[i];
        boolean upper = doubled >= 1.0;
        point[i] = upper ? doubled - 1.0 : doubled;
        side = (side << 1) | (upper ? 1 : 0);
      }
      int next = nodes[slotOf(((long) node << CHILD_BITS) | side)];
      if (next < 0) {
        return ((long) node << (CHILD_BITS + 1)) | (side + 1);
      }
      node = next;
    }
    return (long) node << (CHILD_BITS + 1);
  }

  /** The file of a row: that of its cube and of the band of weights it lies in. */
  public int fileOf(long cube, int weight) {
    if (cube == OUTSIDE) {
      return outsideFile;
    }
    int node = (int) (cube >> (CHILD_BITS + 1));
    int band = bandStart[node];
    int last = bandStart[node + 1] - 1;
    while (band < last && weight > bandWeight[band]) {
      band++;
    }
    return bandFile[band];
  }

  private int slotOf(long key) {
    long mixed = key * 0x9E3779B97F4A7C15L;
    int slot = (int) (mixed >>> 32) & (keys.length - 1);
    while (nodes[slot] >= 0 && keys[slot] != key) {
      slot = (slot + 1) & (keys.length - 1);
    }
    return slot;
  }
}
