package io.pyqbeast.layout;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The cubes, stretches and weights of the rows that a task is about to write, in the order of the rows. {@link
 * RowUnpacker} adds a target for each row that it hands on. {@code BlockCounter} takes the target when the row arrives at
 * its file. Delta's plan lies between the two: it hands on each row once and in order, and may hold rows back for a while.
 */
public final class RowTargets {
  private static final Map<Long, RowTargets> OF_TASK = new ConcurrentHashMap<>();

  /** Targets that are kept for a task without a counter. Nobody takes them then, and no plan holds back so many rows. */
  private static final int WITHOUT_COUNTER = 4096;

  private long[] cubes = new long[64];
  private int[] stretches = new int[64];
  private int[] weights = new int[64];
  private int[] endsOfParts = {Integer.MAX_VALUE};
  private long part;
  private int first;
  private int count;
  private boolean hasCounter;
  private boolean dropped;

  private long cube;
  private int stretch;
  private int weight;

  private RowTargets() {}

  /** The targets of the task that this thread runs. */
  public static RowTargets ofTask() {
    TaskContext task = TaskContext.get();
    return OF_TASK.computeIfAbsent(
        task.taskAttemptId(),
        id -> {
          task.addTaskCompletionListener((TaskCompletionListener) ended -> OF_TASK.remove(id));
          return new RowTargets();
        });
  }

  /** From now on targets are kept until they are taken, however many there are. */
  public void expectCounter() {
    hasCounter = true;
  }

  /** @param ends the largest weight of each part that a file may have, ascending */
  void expectParts(int[] ends) {
    endsOfParts = ends;
  }

  /** Whether the row that is about to be written has a target here. */
  public boolean hasNext() {
    return !dropped && count > 0;
  }

  /** The weight of the row that is about to be written. */
  public int nextWeight() {
    return weights[first];
  }

  /** The largest weight of the part of a file that a weight belongs to. */
  public int endOfPart(int weight) {
    int at = Arrays.binarySearch(endsOfParts, weight);
    return endsOfParts[at < 0 ? -at - 1 : at];
  }

  /** @param bytes where in its file a part begins, whose first row is the one that is about to be written */
  public void notePart(long bytes) {
    part = bytes;
  }

  /** Where in its file the part begins whose first row has just been written; 0 if the row is no first one. */
  public long takePart() {
    long bytes = part;
    part = 0;
    return bytes;
  }

  /** @param stretch of the file by which the partition is sorted */
  void add(long cube, int stretch, int weight) {
    if (!hasCounter && count == WITHOUT_COUNTER) {
      dropped = true;
    }
    if (dropped) {
      return;
    }
    if (count == cubes.length) {
      grow();
    }
    int at = (first + count++) & (cubes.length - 1);
    cubes[at] = cube;
    stretches[at] = stretch;
    weights[at] = weight;
  }

  private void grow() {
    int size = cubes.length;
    long[] moreCubes = Arrays.copyOf(cubes, 2 * size);
    int[] moreStretches = Arrays.copyOf(stretches, 2 * size);
    int[] moreWeights = Arrays.copyOf(weights, 2 * size);
    for (int i = 0; i < size; i++) {
      int at = (first + i) & (size - 1);
      moreCubes[i] = cubes[at];
      moreStretches[i] = stretches[at];
      moreWeights[i] = weights[at];
    }
    cubes = moreCubes;
    stretches = moreStretches;
    weights = moreWeights;
    first = 0;
  }

  /** Moves on to the target of the next row. False where there is none: the row did not come through a RowUnpacker. */
  public boolean next() {
    if (dropped || count == 0) {
      return false;
    }
    cube = cubes[first];
    stretch = stretches[first];
    weight = weights[first];
    first = (first + 1) & (cubes.length - 1);
    count--;
    return true;
  }

  /** Whether every target has been taken. */
  public boolean isEmpty() {
    return !dropped && count == 0;
  }

  public long cube() {
    return cube;
  }

  public int stretch() {
    return stretch;
  }

  public int weight() {
    return weight;
  }
}
