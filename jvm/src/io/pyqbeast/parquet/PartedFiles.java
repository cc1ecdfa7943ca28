package io.pyqbeast.parquet;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.parquet.hadoop.ParquetOutputFormat;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.spark.sql.delta.DeltaParquetWriteSupport;
import org.apache.spark.sql.delta.files.DelayedCommitProtocol;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;
import scala.Option;

/**
 * Delta's keeper of the files that tasks write, which has {@link PartWriter} write their rows, or {@link DeltaPartWriter}
 * where Delta would. Files of a writer that is neither Spark's nor Delta's get no parts. Spark asks it for a name
 * just before it opens a file with the settings of the same task.
 */
public final class PartedFiles extends DelayedCommitProtocol {
  private static final long serialVersionUID = 1L;

  /**
   * @param path the table
   * @param prefix length of a random folder of each file
   * @param folder of all files in the table
   */
  public PartedFiles(String path, Option<Object> prefix, Option<String> folder) {
    super("delta", path, prefix, folder);
  }

  @Override
  public String newTaskTempFile(TaskAttemptContext task, Option<String> folder, String ending) {
    Configuration settings = task.getConfiguration();
    Class<?> writer = settings.getClass(ParquetOutputFormat.WRITE_SUPPORT_CLASS, null);
    if (writer == ParquetWriteSupport.class) {
      settings.setClass(ParquetOutputFormat.WRITE_SUPPORT_CLASS, PartWriter.class, WriteSupport.class);
    } else if (writer == DeltaParquetWriteSupport.class) {
      settings.setClass(ParquetOutputFormat.WRITE_SUPPORT_CLASS, DeltaPartWriter.class, WriteSupport.class);
    }
    LocalFiles.use(settings);
    return super.newTaskTempFile(task, folder, ending);
  }
}
