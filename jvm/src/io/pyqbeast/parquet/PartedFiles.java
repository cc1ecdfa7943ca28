package io.pyqbeast.parquet;

import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.parquet.hadoop.ParquetOutputFormat;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.spark.sql.delta.files.DelayedCommitProtocol;
import scala.Option;

/**
 * Delta's keeper of the files that tasks write, which has {@link PartWriter} write their rows. Spark asks it for a name
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
    task.getConfiguration().setClass(ParquetOutputFormat.WRITE_SUPPORT_CLASS, PartWriter.class, WriteSupport.class);
    LocalFiles.use(task.getConfiguration());
    return super.newTaskTempFile(task, folder, ending);
  }
}
