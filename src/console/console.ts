/**
 * Serves the web page with which a person uses the session, the agent or the gateway of this server. The files of the
 * page contain no data of the server, so they are public. The token that the page sends decides what the page may do.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OwnRoute, RouteReply } from '../http/index.ts';
import { pageFiles } from './files.ts';

/** The kind of server that the page belongs to. */
export interface ConsoleOptions {
  /** Whether the agent is a live session, which has a WebSocket at `/ws`. Default: false. */
  readonly live?: boolean | undefined;
  /** Whether the server is a gateway, which has keys, model cards and other agents. Default: false. */
  readonly gateway?: boolean | undefined;
}

export interface PageOptions extends ConsoleOptions {
  /** Whether `parley inspect` serves the page. The page then has only the inspector. Default: false. */
  readonly inspector?: boolean | undefined;
}

export const CONSOLE_PATH = '/console';

/**
 * Forbids inline scripts and styles, content from other servers, requests to other servers, and functions that parse a
 * text as HTML. Other pages cannot embed this page in a frame, and the browser cannot submit a form.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const COMMON = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

/**
 * Returns the page, or a 503 response if the page has not been built. `files` is the path of the page's files, relative
 * to the address of the page.
 */
export function pageReply(files: string, options: PageOptions = {}): RouteReply {
  const built = pageFiles();
  if (!built) {
    return {
      status: 503,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      text: 'The page has not been built. Build it with: npm run build\n',
    };
  }
  return {
    headers: {
      ...COMMON,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      // The browser must check for a newer page. The page contains the names of its files. These names differ between
      // versions.
      'cache-control': 'no-cache',
      vary: 'Accept',
    },
    text: built.page.replaceAll('%FILES%', files).replace('%SERVER%', kindOf(options)),
  };
}

function kindOf({ live, gateway, inspector }: PageOptions): string {
  if (inspector === true) return 'inspector';
  return live === true ? 'live' : gateway === true ? 'gateway' : 'agent';
}

/** Returns a file of the page, or undefined if there is no such file. */
function fileReply(name: string, acceptEncoding: string | undefined): RouteReply | undefined {
  const file = pageFiles()?.files.get(name);
  if (!file) return undefined;
  const packed = /\bgzip\b/.test(acceptEncoding ?? '') ? file.gzip : undefined;
  return {
    headers: {
      ...COMMON,
      'content-type': file.type,
      // A file with a hash in its name never changes.
      'cache-control': /-\w{8}\./.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'Accept-Encoding',
      ...(packed && { 'content-encoding': 'gzip' }),
    },
    bytes: packed ?? file.plain,
  };
}

const NOT_FOUND: RouteReply = { status: 404, headers: COMMON };

/** Returns the routes of the page at `/console`. */
export function consoleRoutes(options: PageOptions = {}): OwnRoute[] {
  return [
    {
      verb: 'GET',
      path: CONSOLE_PATH,
      public: true,
      handle: async () => pageReply(`${CONSOLE_PATH.slice(1)}/`, options),
    },
    {
      verb: 'GET',
      path: `${CONSOLE_PATH}/`,
      public: true,
      // The location is relative, because a proxy may serve this server below a path.
      handle: async () => ({ status: 308, headers: { ...COMMON, location: `..${CONSOLE_PATH}` } }),
    },
    {
      verb: 'GET',
      path: `${CONSOLE_PATH}/{file}`,
      public: true,
      handle: async (request) =>
        fileReply(request.values['file'] ?? '', request.header('accept-encoding')) ?? NOT_FOUND,
    },
  ];
}

/** Returns whether the Accept header of a request asks for HTML, as browsers do when they open an address. */
export function wantsPage(accept: string | undefined): boolean {
  return /\btext\/html\b/i.test(accept ?? '');
}

/**
 * Serves the page in a server of your own. Mount it beside the agent: the page at `/agent/console` uses the agent at
 * `/agent`.
 *
 *   app.use('/agent/console', consoleHandler());
 *   app.use('/agent', serve(agent).node);
 */
export function consoleHandler(
  options: ConsoleOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const original: unknown = Reflect.get(request, 'originalUrl');
    const whole = pathOf(typeof original === 'string' ? original : (request.url ?? '/'));
    const name = pathOf(request.url ?? '/').slice(1);
    const last = whole.slice(whole.lastIndexOf('/') + 1);
    const reply =
      request.method !== 'GET' && request.method !== 'HEAD'
        ? { status: 405, headers: { ...COMMON, allow: 'GET, HEAD' } }
        : name !== ''
          ? (fileReply(name, request.headers['accept-encoding']) ?? NOT_FOUND)
          : last === '' && whole !== '/'
            ? { status: 308, headers: { ...COMMON, location: whole.slice(0, -1) } }
            : pageReply(last === '' ? '' : `${last}/`, options);
    const body = reply.bytes ?? Buffer.from(reply.text ?? '');
    response.writeHead(reply.status ?? 200, { ...reply.headers, 'content-length': body.length });
    response.end(request.method === 'HEAD' ? undefined : body);
  };
}

function pathOf(url: string): string {
  const [path = '/'] = url.split('?', 1);
  return path;
}
