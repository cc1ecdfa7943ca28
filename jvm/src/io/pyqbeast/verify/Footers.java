package io.pyqbeast.verify;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.commit.TableLog;
import io.pyqbeast.errors.Door;
import io.pyqbeast.parquet.RowGroups;
import java.io.File;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;

/** What the footers of data files tell. No data is read. */
public final class Footers {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** One task reads so many. A footer takes a disk a millisecond, and a store some fifty. */
  private static final int OF_A_TASK = 100;

  private Footers() {}

  /**
   * Writes a JSON array for each file: its location, its rows, and null or why it cannot be read. One Spark job.
   *
   * @param request a file with the locations, a JSON array
   */
  public static void rowsTo(TableLog log, String request, String target) {
    log.filesDoor().run(
        () -> {
          List<String> locations = JSON.readValue(new File(request), new TypeReference<List<String>>() {});
          JavaSparkContext spark = JavaSparkContext.fromSparkContext(log.session().sparkContext());
          Broadcast<SerializableConfiguration> conf = FileContents.configuration(log);
          int tasks = Math.max(spark.defaultParallelism(), locations.size() / OF_A_TASK);
          List<Object[]> footers =
              spark
                  .parallelize(locations, Math.min(tasks, locations.size()))
                  .map(location -> read(location, conf.value().value()))
                  .collect();
          JSON.writeValue(new File(target), footers);
        });
  }

  /** What is written of a file. It is no record because it comes home by Spark's serializer: Kryo cannot read records. */
  private static Object[] read(String location, Configuration conf) {
    try (ParquetFileReader reader = RowGroups.footer(new Path(location), conf)) {
      return new Object[] {location, reader.getRecordCount(), null};
    } catch (Exception e) {
      return new Object[] {location, 0, Door.words(e)};
    }
  }
}
