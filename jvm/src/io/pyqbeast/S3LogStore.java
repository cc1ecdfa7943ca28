package io.pyqbeast;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A log store that lets several drivers commit to a table on S3. Delta's own store looks whether a commit's file exists
 * and writes it then, and two drivers can both find that it does not. This one leaves the decision to S3: a conditional
 * write makes the file only where there is none.
 *
 * <p>Users set {@code spark.delta.logStore.s3a.impl} to this class, for every driver that writes.
 */
public final class S3LogStore extends S3SingleDriverLogStore {
  /** Hadoop's option for a conditional write; its constant is not there in Spark 4.0's Hadoop. */
  private static final String ONLY_NEW = "fs.option.create.conditional.overwrite";

  public S3LogStore(Configuration settings) {
    super(settings);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration settings) throws IOException {
    if (overwrite) {
      super.write(path, actions, true, settings);
      return;
    }
    FileSystem files = path.getFileSystem(settings);
    MessageDigest written = sha256();
    FSDataOutputStream file = create(files, path);
    boolean isComplete = false;
    try {
      DigestOutputStream lines = new DigestOutputStream(file, written);
      while (actions.hasNext()) {
        lines.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
      }
      isComplete = true;
    } finally {
      if (!isComplete) {
        file.abort(); // since closing would publish the part
      }
    }
    try {
      file.close();
    } catch (IOException e) {
      findOut(files, path, written.digest(), e);
    }
  }

  private static FSDataOutputStream create(FileSystem files, Path path) throws IOException {
    try {
      FSDataOutputStreamBuilder<?, ?> builder = files.createFile(path);
      builder.must(ONLY_NEW, true);
      return builder.build();
    } catch (IllegalArgumentException | UnsupportedOperationException e) {
      throw new IOException(
          path + " cannot be made by a conditional write, which S3LogStore needs: that takes s3a with hadoop-aws 3.4.2 or"
              + " newer, and fs.s3a.create.conditional.enabled, which is on by default",
          e);
    }
  }

  /**
   * Returns if the file is the one that was written, though writing it ended in an error: an answer was lost, and the
   * request that was sent again met its own file. No two commits have the same bytes, since each carries an id.
   */
  private static void findOut(FileSystem files, Path path, byte[] written, IOException why) throws IOException {
    byte[] there;
    try {
      there = digest(files, path);
    } catch (FileNotFoundException e) {
      throw why;
    } catch (IOException e) {
      why.addSuppressed(e);
      throw why;
    }
    if (!MessageDigest.isEqual(there, written)) {
      throw new FileAlreadyExistsException(path.toString());
    }
  }

  private static byte[] digest(FileSystem files, Path path) throws IOException {
    MessageDigest digest = sha256();
    byte[] part = new byte[64 * 1024];
    try (InputStream file = files.open(path)) {
      for (int size = file.read(part); size >= 0; size = file.read(part)) {
        digest.update(part, 0, size);
      }
    }
    return digest.digest();
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
