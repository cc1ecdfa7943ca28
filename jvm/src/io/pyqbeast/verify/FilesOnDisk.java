package io.pyqbeast.verify;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pyqbeast.commit.TableLog;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.UniversalFormat;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.RemoveFile;

/** What storage lists of a table's files and deletion vectors. No file is opened. */
public final class FilesOnDisk {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final DeltaLog log;
  private final Configuration conf;

  /** The sizes of all files below the table's folder that are not hidden, by their whole locations. */
  private final Map<String, Long> sizes = new HashMap<>();

  /**
   * So many files of a folder outside the table's folder are asked for one by one before the folder is listed. It may
   * hold a million others.
   */
  private static final int ASKED_SINGLY = 20;

  /** The locations of live data files and vectors. */
  private final Set<String> named = new HashSet<>();

  /** The names of files that were looked for in folders outside the table's folder. Vectors may share one. */
  private final Map<Path, Set<String>> asked = new HashMap<>();

  /** The sizes of what such folders list, by folder and name. */
  private final Map<Path, Map<String, Long>> elsewhere = new HashMap<>();

  /** The table's folder. */
  private final String root;

  private final FileSystem files;

  /** The listed files by their paths without links; null until one is looked for by that. */
  private Map<String, String> byRealPath;

  private FilesOnDisk(TableLog table) throws IOException {
    this.log = table.deltaLog();
    boolean isIceberg = UniversalFormat.icebergEnabled(table.snapshot().metadata());
    this.conf = log.newDeltaHadoopConf();
    this.files = log.dataPath().getFileSystem(conf);
    this.root = files.makeQualified(log.dataPath()) + "/";
    for (FileStatus each : Listing.below(files, log.dataPath(), one -> !isHidden(one.getPath().getName(), isIceberg))) {
      sizes.put(each.getPath().toString(), each.getLen());
    }
  }

  /**
   * Writes a line of JSON a live file: its path in the log, its whole location, its bytes (null where it is missing), and
   * the location and bytes of the file that its deletion vector lies in. The last line names the orphans, an array of
   * locations and sizes: files in the table's folder that no version within its retention names.
   */
  public static void listTo(TableLog log, String target) {
    log.filesDoor().run(() -> new FilesOnDisk(log).writeTo(log, target));
  }

  private void writeTo(TableLog log, String target) throws IOException {
    try (JsonGenerator out = JSON.createGenerator(Files.newBufferedWriter(java.nio.file.Path.of(target)))) {
      out.setPrettyPrinter(new MinimalPrettyPrinter("\n"));
      for (AddFile file : log.liveFiles()) {
        String location = locationOf(file);
        String vector = locationOf(file.deletionVector());
        out.writeStartObject();
        out.writeStringField("path", file.path());
        out.writeStringField("location", location);
        out.writeObjectField("size", sizeOf(location));
        out.writeStringField("vector", vector);
        out.writeObjectField("vector_size", sizeOf(vector));
        out.writeEndObject();
      }
      sizes.keySet().removeAll(named);
      if (!sizes.isEmpty()) {
        for (RemoveFile file : (RemoveFile[]) log.snapshot().tombstones().collect()) {
          sizes.remove(locationOf(file));
          sizes.remove(locationOf(file.deletionVector()));
        }
      }
      out.writeObject(sizes.entrySet().stream().map(file -> List.of(file.getKey(), file.getValue())).toList());
    }
  }

  private String locationOf(FileAction file) {
    try {
      return noted(file.absolutePath(log));
    } catch (RuntimeException e) {
      return file.path(); // it is no URL, and no file has such a location
    }
  }

  /** Null where the vector lies in no file. */
  private String locationOf(DeletionVectorDescriptor vector) {
    try {
      return vector == null || !vector.isOnDisk() ? null : noted(vector.absolutePath(log.dataPath()));
    } catch (RuntimeException e) {
      return null; // its descriptor is damaged, which Python tells
    }
  }

  /** The location of a path that the log names, which is then no orphan. */
  private String noted(Path path) {
    String location = path.toUri().getScheme() == null ? log.dataPath().toUri().getScheme() + ":" + path : path.toString();
    String listed = sizes.containsKey(location) ? location : listed(path, location);
    named.add(listed);
    return listed;
  }

  /**
   * The location by which the listing has a file. Links give a local file many paths: the table's own path may be one,
   * and the log may name another.
   */
  private String listed(Path path, String location) {
    if (byRealPath == null) {
      byRealPath = new HashMap<>();
      sizes.keySet().forEach(each -> byRealPath.put(Listing.realPath(files, new Path(each)), each));
    }
    return byRealPath.getOrDefault(Listing.realPath(files, path), location);
  }

  /** Null for a file that is not there. A shallow clone has files outside the table's folder, others may be hidden. */
  private Long sizeOf(String location) throws IOException {
    if (location == null || sizes.containsKey(location)) {
      return sizes.get(location);
    }
    try {
      Path path = new Path(location);
      FileSystem files = path.getFileSystem(conf);
      Path folder = path.getParent();
      Set<String> names = asked.computeIfAbsent(folder, each -> new HashSet<>());
      names.add(path.getName());
      boolean isListed = !location.startsWith(root) && names.size() > ASKED_SINGLY;
      Long listed = isListed ? listed(files, folder).get(path.getName()) : null;
      return listed == null ? files.getFileStatus(path).getLen() : listed;
    } catch (FileNotFoundException | IllegalArgumentException e) {
      return null;
    }
  }

  /**
   * The sizes of the files in a folder outside the table's folder, by name. A shallow clone may have 100,000 of them.
   * Who may read them need not be allowed to list them, nor may a store be able to: then there are none, and each is
   * asked for by itself.
   */
  private Map<String, Long> listed(FileSystem files, Path folder) {
    return elsewhere.computeIfAbsent(
        folder,
        each -> {
          Map<String, Long> found = new HashMap<>();
          try {
            for (FileStatus file : files.listStatus(each)) {
              if (file.isFile()) {
                found.put(file.getPath().getName(), file.getLen());
              }
            }
          } catch (IOException | RuntimeException e) {
            found.clear();
          }
          return found;
        });
  }

  /**
   * Whether a name is none of the table's rows: the log, checksums, change data, what a query engine keeps. Where the table
   * is one of Iceberg as well, its metadata is such, too. Delta's VACUUM goes by the same names.
   */
  private static boolean isHidden(String name, boolean isIceberg) {
    return name.startsWith("_") || name.startsWith(".") || isIceberg && name.equals("metadata");
  }
}
