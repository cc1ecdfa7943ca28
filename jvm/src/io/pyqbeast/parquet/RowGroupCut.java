package io.pyqbeast.parquet;

import io.pyqbeast.errors.Door;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import org.apache.parquet.hadoop.MemoryManager;
import org.apache.parquet.hadoop.ParquetOutputFormat;
import org.apache.parquet.hadoop.api.WriteSupport;

/**
 * Ends a row group of a file that is being written. Parquet has no call for that: its writer ends a row group when it
 * finds that the rows so far take more memory than a row group may. Here the limit of the writer is set to zero and its
 * check is called. The check ends the row group, and then restores the limit.
 */
final class RowGroupCut {
  private RowGroupCut() {}

  /**
   * Ends the row group of the rows so far.
   *
   * @param rows what writes the rows of the file
   * @return where in the file the row group ends; 0 where Parquet's writer is another than the known ones, and goes on
   */
  static long before(WriteSupport<?> rows) {
    try {
      Object writer = writerOf(rows);
      if (writer == null) {
        return 0;
      }
      Field end = field(writer, "lastRowGroupEndPos");
      if (field(writer, "recordCount").getLong(writer) == 0) {
        return end.getLong(writer); // it has just ended one by itself, and would divide by the rows of the next
      }
      Method look = writer.getClass().getDeclaredMethod("checkBlockSizeReached");
      look.setAccessible(true);
      field(writer, "nextRowGroupSize").setLong(writer, 0);
      field(writer, "recordCountForNextMemCheck").setLong(writer, 0);
      look.invoke(writer);
      return end.getLong(writer);
    } catch (InvocationTargetException e) {
      throw Door.unchecked(e.getCause());
    } catch (ReflectiveOperationException e) {
      return 0;
    }
  }

  /** The writer of a file. The writers of a JVM share its memory, and whoever divides it has a list of them. */
  private static Object writerOf(WriteSupport<?> rows) throws ReflectiveOperationException {
    MemoryManager memory = ParquetOutputFormat.getMemoryManager();
    Field writers = MemoryManager.class.getDeclaredField("writerList");
    writers.setAccessible(true);
    synchronized (memory) {
      for (Object writer : ((Map<?, ?>) writers.get(memory)).keySet()) {
        if (field(writer, "writeSupport").get(writer) == rows) {
          return writer;
        }
      }
    }
    return null;
  }

  private static Field field(Object writer, String name) throws ReflectiveOperationException {
    Field field = writer.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
