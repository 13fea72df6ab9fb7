/**
 * The requests of our own listeners (listener.ts).
 *
 * node:http passes a body to its request with `push`. The request is a stream, which passes the body on with several
 * events and ticks. For a small request, this takes more time than parsing the JSON. So `takeBody` gets the body
 * directly from `push`. If `takeBody` is not called, the request is an ordinary stream.
 */
import type { IncomingMessage } from 'node:http';
import type { HttpRequest } from './messages.ts';

/** Receives a body. */
export interface BodySink {
  data(chunk: Buffer): void;
  end(): void;
}

export interface DirectRequest extends IncomingMessage {
  /**
   * Whether the listener's own address is a loopback address. If so, each request has come over loopback, and the
   * address of its socket is not looked up. A lookup would take a system call and memory for each connection.
   */
  readonly isLocal: boolean;
  /**
   * Passes the body to `sink`. Returns false if the body has already begun to arrive. It must then be read as a stream.
   */
  takeBody(sink: BodySink): boolean;
  /** Stops passing the body. The rest can be read as a stream. */
  leaveBody(): void;
}

export function isDirect(request: HttpRequest): request is DirectRequest {
  return 'takeBody' in request;
}

/**
 * Makes the class of the requests. `Base` is the class of node:http. It is a parameter, because importing node:http
 * takes most of the start-up time.
 */
export function directRequestClass(
  Base: typeof IncomingMessage,
  isLocal: boolean,
): typeof IncomingMessage {
  return class Direct extends Base implements DirectRequest {
    #sink: BodySink | undefined = undefined;
    #isTaken = false;

    get isLocal(): boolean {
      return isLocal;
    }

    takeBody(sink: BodySink): boolean {
      if (this.complete || this.readableLength > 0) return false;
      this.#sink = sink;
      // Marks the request as being read. Without this mark, node:http would read it again after the response.
      this._read(0);
      return true;
    }

    leaveBody(): void {
      this.#sink = undefined;
    }

    override push(chunk: Buffer | null): boolean {
      const sink = this.#sink;
      if (sink === undefined) return super.push(chunk);
      if (chunk === null) {
        this.#sink = undefined;
        this.#isTaken = true;
        sink.end();
      } else {
        sink.data(chunk);
      }
      return true;
    }

    static {
      // node:http releases a request after the response only if `readableEnded` is true. TypeScript declares
      // `readableEnded` as a field, so a getter cannot override it in the usual way.
      Object.defineProperty(this.prototype, 'readableEnded', {
        get(this: Direct): boolean {
          return this.#isTaken || Reflect.get(Base.prototype, 'readableEnded', this);
        },
      });
    }
  };
}
