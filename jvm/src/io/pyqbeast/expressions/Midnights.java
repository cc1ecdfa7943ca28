package io.pyqbeast.expressions;

import java.sql.Date;
import java.time.LocalDate;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;

/**
 * The midnights of days in the JVM's time zone, in the calendar that {@code java.sql.Date} uses: what the format stores for
 * a date, in milliseconds since 1970.
 */
public final class Midnights {
  /** More days than the two calendars are apart, and a time zone from UTC. */
  private static final int APART = 14;

  private Midnights() {}

  /** @param day counted from 1970 on */
  public static long of(long day) {
    return Date.valueOf(LocalDate.ofEpochDay(day)).getTime();
  }

  /** Whether a day begins at these milliseconds. */
  public static boolean isOne(long milliseconds) {
    long near = Math.floorDiv(milliseconds, TimeUnit.DAYS.toMillis(1));
    return LongStream.rangeClosed(near - APART, near + APART).anyMatch(day -> of(day) == milliseconds);
  }
}
