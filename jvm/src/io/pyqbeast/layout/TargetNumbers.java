package io.pyqbeast.layout;

import java.util.Arrays;

/** Numbers for the targets of rows, each a file, a stretch of it, and a cube. */
final class TargetNumbers {
  private int size;
  private int[] files = new int[1024];
  private int[] stretches = new int[1024];
  private long[] cubes = new long[1024];

  /** Open addressing: the number of a target plus one; zero where there is none. */
  private int[] slots = new int[4096];

  int size() {
    return size;
  }

  int file(int number) {
    return files[number];
  }

  int stretch(int number) {
    return stretches[number];
  }

  long cube(int number) {
    return cubes[number];
  }

  void clear() {
    size = 0;
    Arrays.fill(slots, 0);
  }

  /** The number of a target: a new one where it is asked for first. */
  int number(int file, int stretch, long cube) {
    int slot = slotOf(file, stretch, cube);
    if (slots[slot] == 0) {
      if (4 * size >= slots.length) {
        grow();
        slot = slotOf(file, stretch, cube);
      }
      files[size] = file;
      stretches[size] = stretch;
      cubes[size] = cube;
      slots[slot] = ++size;
    }
    return slots[slot] - 1;
  }

  private int slotOf(int file, int stretch, long cube) {
    long mixed = (cube * 31 + file) * 0x9E3779B97F4A7C15L + stretch * 0xC2B2AE3D27D4EB4FL;
    int slot = (int) (mixed >>> 33) & (slots.length - 1);
    while (slots[slot] != 0 && !is(slots[slot] - 1, file, stretch, cube)) {
      slot = (slot + 1) & (slots.length - 1);
    }
    return slot;
  }

  private boolean is(int number, int file, int stretch, long cube) {
    return cubes[number] == cube && stretches[number] == stretch && files[number] == file;
  }

  private void grow() {
    int capacity = 2 * files.length;
    files = Arrays.copyOf(files, capacity);
    stretches = Arrays.copyOf(stretches, capacity);
    cubes = Arrays.copyOf(cubes, capacity);
    slots = new int[2 * slots.length];
    for (int number = 0; number < size; number++) {
      slots[slotOf(files[number], stretches[number], cubes[number])] = number + 1;
    }
  }
}
