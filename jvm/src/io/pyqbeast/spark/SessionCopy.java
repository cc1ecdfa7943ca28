package io.pyqbeast.spark;

import java.nio.file.Files;
import org.apache.spark.sql.artifact.ArtifactManager;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A copy of a session, in which something runs under settings of its own. Spark gives it all that a client of Spark Connect
 * has uploaded: rows, which it gives back at once, as Delta makes copies of copies and closes none, and a copy of each file.
 */
public final class SessionCopy implements AutoCloseable {
  private static final String UPLOADS_STAY = "what a client has uploaded may stay until Spark ends";

  private final SparkSession session;
  private final ArtifactManager uploads;

  private SessionCopy(SparkSession session) {
    this.session = session;
    uploads = session.artifactManager();
  }

  public static SessionCopy of(org.apache.spark.sql.SparkSession session) {
    SessionCopy copy = new SessionCopy(((SparkSession) session).cloneSession());
    Frames.quietly(() -> UploadedRows.giveBack(copy.uploads), UPLOADS_STAY);
    return copy;
  }

  /** Whether a client has uploaded files into a session. A copy of it takes time, and some of them stay until Spark ends. */
  public static boolean copiesFiles(org.apache.spark.sql.SparkSession session) {
    return hasFiles(((SparkSession) session).artifactManager());
  }

  private static boolean hasFiles(ArtifactManager uploads) {
    return Files.exists(uploads.artifactPath());
  }

  public SparkSession session() {
    return session;
  }

  /** The session for what needs no code of the user's, such as a scan of files. It may be used for any time. */
  public SparkSession withoutUploads() {
    close();
    return session;
  }

  /** Whether tasks of the copy get its own files, as by default. Else those that anybody has uploaded are everybody's. */
  private boolean isApart() {
    return uploads.state() != null;
  }

  /** Gives back the files, for which Spark starts a program. The session still tells its settings. */
  @Override
  public void close() {
    boolean areFetchedByAll = !isApart() && !uploads.sparkContextRelativePaths().isEmpty();
    if (hasFiles(uploads) && !areFetchedByAll) { // Tasks would fail that do not find what they fetch.
      Frames.quietly(uploads::close, UPLOADS_STAY);
    }
  }
}
