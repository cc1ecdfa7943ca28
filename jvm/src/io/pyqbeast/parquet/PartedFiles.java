package io.pyqbeast.parquet;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.parquet.hadoop.ParquetOutputFormat;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.spark.sql.delta.DeltaParquetWriteSupport;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;
import scala.Option;

/**
 * Spark asks for the name of a file just before it opens the file with the settings of the same task, so here these settings
 * are changed: {@link PartWriter} takes the place of Spark's writer of rows, and {@link DeltaPartWriter} that of Delta's. Files
 * of any other writer get no parts.
 */
public final class PartedFiles extends FilesOfJob {
  private static final long serialVersionUID = 1L;

  public PartedFiles(String table, Option<Object> prefix, Option<String> folder) {
    super(table, prefix, folder);
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
