package io.pyqbeast.python;

import io.pyqbeast.errors.Door;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.GatewayServer;
import py4j.Py4JClientConnection;
import py4j.Py4JPythonClient;
import py4j.Py4JPythonClientPerThread;
import py4j.PythonClient;

/**
 * How threads of the JVM call Python. A thread that serves a call from Python answers on the connection that Python
 * opened. All other threads need Python to listen on a port. Python begins to listen when the first of them asks, and
 * demands the gateway's secret.
 */
public final class CallbackServer {
  private static final long SECONDS_TO_LISTEN = 60;
  private static volatile Gateway gateway;
  private static volatile Listener listener;

  private CallbackServer() {}

  /**
   * Called when Python attaches a session. From then on the JVM sends the secret when it connects to Python's port.
   *
   * @param port where Python listens already, for {@code foreachBatch} or a listener; 0 where it does not
   */
  public static void secure(GatewayServer server, String secret, int port) throws ReflectiveOperationException {
    Gateway ours = server.getGateway();
    if (ours.getCallbackClient() instanceof PythonClient client && !(client instanceof SecretClient)) {
      // py4j's own client forgets the secret when it learns the port, and there is no way to hand over another.
      Field field = Gateway.class.getDeclaredField("cbClient");
      field.setAccessible(true);
      field.set(ours, new SecretClient(client, client.getAddress(), port, secret));
    }
    gateway = ours;
    listener = new Listener();
  }

  /** Waits until a thread that serves no call from Python wants to call Python. */
  public static void awaitAsked() throws InterruptedException {
    listener.asked.await();
  }

  /** Called when Python has begun to listen. */
  public static void listening() {
    listener.listens.countDown();
  }

  /** Whether Python, asked by this thread, calls back on other ones. */
  static boolean answersElsewhere() {
    return !(gateway.getCallbackClient() instanceof Py4JPythonClientPerThread);
  }

  /**
   * Waits until this thread can call Python.
   *
   * @return false where Python does not begin to listen
   */
  static boolean canAsk() {
    Py4JPythonClient client = gateway.getCallbackClient();
    boolean servesPython =
        client instanceof Py4JPythonClientPerThread each && each.getPerThreadConnection() != null;
    if (servesPython) {
      return true;
    }
    Listener python = listener;
    python.asked.countDown();
    try {
      boolean listens = python.listens.await(python.isMissed ? 0 : SECONDS_TO_LISTEN, TimeUnit.SECONDS);
      python.isMissed = !listens;
      return listens;
    } catch (InterruptedException e) {
      throw Door.unchecked(e);
    }
  }

  /** The Python process that attached a session last. The JVM may outlive it, and then another one may attach. */
  private static final class Listener {
    final CountDownLatch asked = new CountDownLatch(1);
    final CountDownLatch listens = new CountDownLatch(1);

    /** Whether a thread has waited in vain. The next ones do not wait, and find out whether it listens by now. */
    volatile boolean isMissed;
  }

  /** py4j's client with a secret that it keeps, and with the connections of Python's threads. */
  private static final class SecretClient extends PythonClient {
    private final PythonClient first;
    private final String secret;

    /**
     * The calls that a thread waits for, one within the other, on a connection that this client opened; none where the
     * thread uses one that Python opened, or {@link #first}.
     */
    private final ThreadLocal<Integer> calls = new ThreadLocal<>();

    SecretClient(PythonClient first, InetAddress address, int port, String secret) {
      super(
          first.getGateway(), null, port, address, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
          CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault(), first.getJavaServer(), true,
          first.getReadTimeout(), secret);
      this.first = first;
      this.secret = secret;
    }

    @Override
    public Py4JPythonClient copyWith(InetAddress address, int port) {
      return new SecretClient(first, address, port, secret);
    }

    @Override
    protected Socket startClientSocket() throws IOException {
      if (getPort() == 0) {
        throw new IOException("Python does not listen");
      }
      return super.startClientSocket();
    }

    @Override
    protected Py4JClientConnection getConnection() throws IOException {
      ClientServerConnection before = getPerThreadConnection();
      Py4JClientConnection connection = super.getConnection();
      if (connection != before) {
        calls.set(1);
      } else if (calls.get() != null) {
        calls.set(calls.get() + 1);
      }
      return connection;
    }

    /**
     * Closes a connection that this client opened, once the first call of its thread is over: Python may have called
     * back meanwhile, and been called again. A thread that ends would leave it open for good, and each start of a stream
     * is a thread. All others stay open, as a call may wait for its answer there.
     */
    @Override
    protected void giveBackConnection(Py4JClientConnection connection) {
      Integer waiting = calls.get();
      if (waiting == null) {
        return;
      }
      if (waiting > 1) {
        calls.set(waiting - 1);
        return;
      }
      calls.remove();
      setPerThreadConnection(null);
      connection.shutdown();
    }

    @Override
    public ClientServerConnection getPerThreadConnection() {
      return first.getPerThreadConnection();
    }

    @Override
    public void setPerThreadConnection(ClientServerConnection connection) {
      first.setPerThreadConnection(connection);
    }
  }
}
