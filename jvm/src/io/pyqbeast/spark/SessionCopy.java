package io.pyqbeast.spark;

import org.apache.spark.sql.SparkSession;

/** Copies of sessions, which have settings of their own. */
public final class SessionCopy {
  private SessionCopy() {}

  /**
   * A copy of a session. Spark's {@code interruptAll} finds jobs by a tag that is made of the session's id, which the
   * copy does not share, so jobs that this thread runs in the copy get the tag of the given session too.
   */
  public static SparkSession of(SparkSession session) {
    org.apache.spark.sql.classic.SparkSession given = (org.apache.spark.sql.classic.SparkSession) session;
    org.apache.spark.sql.classic.SparkSession copy = given.cloneSession();
    copy.managedJobTags().get().put(given.sessionJobTag(), given.sessionJobTag());
    return copy;
  }
}
