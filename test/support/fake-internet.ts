/**
 * An internet for tests, so that nothing leaves this machine. Names resolve as the test says. Every connection is
 * recorded with the address to which the program would connect, and ends at the same port of 127.0.0.1.
 */
import dns from 'node:dns';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { mock, type TestContext } from 'node:test';

export interface FakeInternet {
  /** The addresses to which the program would have connected, in order. */
  readonly reached: string[];
}

/** Starts the fake internet until the end of the test. `resolve` returns the addresses of a name. */
export function fakeInternet(
  t: TestContext,
  resolve: (name: string) => readonly string[],
): FakeInternet {
  const reached: string[] = [];

  const lookup = (name: string, options: { all?: boolean }, done: Done): void => {
    const found = isIP(name) === 0 ? resolve(name) : [name];
    const addresses = found.map((address) => ({ address, family: isIP(address) }));
    const [first] = addresses;
    setImmediate(() => {
      if (!first) done(Object.assign(new Error(`no address of ${name}`), { code: 'ENOTFOUND' }));
      else if (options.all) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
  const lookups = mock.method(dns, 'lookup', lookup);

  const connect: typeof Socket.prototype.connect = Reflect.get(Socket.prototype, 'connect');
  const sockets = mock.method(
    Socket.prototype,
    'connect',
    function (this: Socket, ...args: unknown[]) {
      // `net.connect` passes its arguments on as one array.
      const options: unknown = Array.isArray(args[0]) ? args[0][0] : args[0];
      if (!isTarget(options)) throw new Error('the fake internet does not know this connection');
      const { host } = options;
      if (isIP(host) === 0) options.lookup = recorded(options.lookup ?? dns.lookup);
      else {
        reached.push(host);
        options.host = '127.0.0.1';
      }
      return Reflect.apply(connect, this, args);
    },
  );

  /** Returns the lookup. It records the addresses that it found, and replaces them with 127.0.0.1. */
  function recorded(inner: LookupFunction): LookupFunction {
    return (name, options, done) => {
      inner(name, options, (error, found, family) => {
        if (error) return done(error, found, family);
        const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
        reached.push(...addresses);
        if (options.all) done(null, [{ address: '127.0.0.1', family: 4 }]);
        else done(null, '127.0.0.1', 4);
      });
    };
  }

  t.after(() => {
    lookups.mock.restore();
    sockets.mock.restore();
  });
  return { reached };
}

type Done = (error: Error | null, ...found: unknown[]) => void;

function isTarget(options: unknown): options is { host: string; lookup?: LookupFunction } {
  return (
    typeof options === 'object' &&
    options !== null &&
    'host' in options &&
    typeof options.host === 'string'
  );
}
