package io.pyqbeast.spark;

import org.apache.spark.sql.artifact.ArtifactManager;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A copy of a session, in which something runs under settings of its own. Spark gives it all that a client of Spark Connect
 * has uploaded: a copy of each file, and a claim on the rows, which stay until every session that has one is closed.
 */
public final class SessionCopy implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(SessionCopy.class.getName());

  private final SparkSession session;
  private final ArtifactManager uploads;

  private SessionCopy(SparkSession session) {
    this.session = session;
    uploads = session.artifactManager();
  }

  public static SessionCopy of(org.apache.spark.sql.SparkSession session) {
    SessionCopy copy = new SessionCopy(((SparkSession) session).cloneSession());
    if (!copy.isApart()) {
      copy.close(); // Delta makes copies of copies, and closes none.
    }
    return copy;
  }

  public SparkSession session() {
    return session;
  }

  /** The session for what needs no code of the user's, such as a scan of files. It may be used for any time. */
  public SparkSession withoutUploads() {
    close();
    return session;
  }

  /** Whether tasks of the copy get its own files. By default those that anybody has uploaded are everybody's. */
  private boolean isApart() {
    return uploads.state() != null;
  }

  /** Gives back what was uploaded. The session still tells its settings. */
  @Override
  public void close() {
    boolean areFetchedByAll = !isApart() && !uploads.sparkContextRelativePaths().isEmpty();
    if (areFetchedByAll) {
      return; // Tasks would fail that do not find them.
    }
    try {
      uploads.close();
    } catch (Exception e) { // A write that has landed never reports failure.
      LOG.log(System.Logger.Level.WARNING, "what a client has uploaded may stay until Spark ends", e);
    }
  }
}
