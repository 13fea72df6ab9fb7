// The baseline for a hop: a proxy with bare node:http and undici. It forwards requests and responses unchanged.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { Agent } from 'undici';

const origin = `http://127.0.0.1:${process.argv[2]}`;
const upstream = new Agent({ keepAliveTimeout: 30_000 });

/** Removes the headers of the connection, which a proxy must not forward (RFC 9110, 7.6.1). */
function passed(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const {
    connection: _,
    'keep-alive': __,
    'transfer-encoding': ___,
    host: ____,
    ...rest
  } = headers;
  return rest;
}

const server = createServer((request, response) => {
  upstream
    .stream(
      {
        origin,
        path: request.url ?? '/',
        method: 'POST',
        headers: passed(request.headers),
        body: request,
        bodyTimeout: 60_000,
      },
      ({ statusCode, headers }) => response.writeHead(statusCode, passed(headers)),
    )
    .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
