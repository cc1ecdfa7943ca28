import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;

/**
 * A name node and two data nodes on loopback. It prints the address, and then takes one command a line: {@code open
 * PATH}, {@code close PATH}, {@code quota PATH BYTES}, {@code kill NODE}, {@code revive}. It answers each with a line.
 */
public final class MiniHdfs {
  private MiniHdfs() {}

  /** Runs until its input ends. */
  public static void main(String[] arguments) throws Exception {
    Configuration settings = new Configuration();
    settings.set("hdfs.minidfs.basedir", new File(arguments[0]).getAbsolutePath());
    settings.set("dfs.namenode.fs-limits.min-block-size", "1024");
    settings.set("dfs.replication", "2");
    try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(2).build()) {
      cluster.waitActive();
      System.out.println(cluster.getURI());
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      MiniDFSCluster.DataNodeProperties killed = null;
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        String[] words = line.split(" ");
        DistributedFileSystem files = cluster.getFileSystem();
        switch (words[0]) {
          case "open" -> permit(files, new Path(words[1]), "777");
          case "close" -> permit(files, new Path(words[1]), "555");
          case "quota" -> files.setQuota(
              new Path(words[1]), HdfsConstants.QUOTA_DONT_SET, Long.parseLong(words[2]));
          case "kill" -> killed = cluster.stopDataNode(Integer.parseInt(words[1]));
          case "revive" -> cluster.restartDataNode(killed, true);
          default -> throw new IllegalArgumentException(line);
        }
        System.out.println("done");
      }
    }
  }

  private static void permit(FileSystem files, Path path, String mode) throws Exception {
    files.mkdirs(path);
    files.setPermission(path, new FsPermission(mode));
  }
}
