package io.pyqbeast.parquet;

import io.pyqbeast.spark.ScalaInterop;
import java.net.URI;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.files.DelayedCommitProtocol;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Delta's commit protocol, which gives names to the files that tasks write. Where Delta lets the files of a job that fails lie
 * until VACUUM, this deletes them. A file can go with the attempt of a task that wrote it, because each has a name of its own.
 */
public class FilesOfJob extends DelayedCommitProtocol {
  private static final long serialVersionUID = 1L;
  private static final System.Logger LOG = System.getLogger(FilesOfJob.class.getName());

  private final String table;

  /** Paths of the files of all tasks that have succeeded. Only the driver has it. */
  private final transient Set<String> ofTasks = ConcurrentHashMap.newKeySet();

  /**
   * @param table its path
   * @param prefix length of a random folder of each file
   * @param folder of all files in the table
   */
  public FilesOfJob(String table, Option<Object> prefix, Option<String> folder) {
    super("delta", table, prefix, folder);
    this.table = table;
  }

  /** A task that is killed by now ends here, by which {@link #abortTask} is called. Spark would not see it before the end. */
  @Override
  public TaskCommitMessage commitTask(TaskAttemptContext task) {
    TaskCommitMessage succeeded = super.commitTask(task);
    if (TaskContext.get().isInterrupted()) {
      throw new TaskKilledException();
    }
    return succeeded;
  }

  @Override
  public void onTaskCommit(TaskCommitMessage succeeded) {
    super.onTaskCommit(succeeded);
    ScalaInterop.list((Seq<?>) succeeded.obj()).forEach(file -> ofTasks.add(((FileAction) file).path()));
  }

  @Override
  public void abortTask(TaskAttemptContext task) {
    super.abortTask(task);
    delete(ScalaInterop.list(addedFiles()).stream().map(file -> file._2()).toList(), task.getConfiguration());
  }

  @Override
  public void abortJob(JobContext job) {
    super.abortJob(job);
    delete(ofTasks, job.getConfiguration());
  }

  /**
   * Deletes files. What cannot be deleted stays: the error to tell is the one that has ended the job. A task that others have
   * failed beside is interrupted, and storage takes no calls of a thread that is.
   */
  private void delete(Collection<String> paths, Configuration settings) {
    boolean interrupted = Thread.interrupted();
    for (String path : paths) {
      try {
        Path file = new Path(new Path(table), new Path(new URI(path)));
        file.getFileSystem(settings).delete(file, false);
      } catch (Exception e) {
        LOG.log(System.Logger.Level.WARNING, path + " stays behind in " + table + " until VACUUM deletes it", e);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
