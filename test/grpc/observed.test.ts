/** Every answer over gRPC is reported to `observe` once, also the errors that no method of the service makes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';
import { after, before, test } from 'node:test';
import { grpcBinding } from '../../src/grpc.ts';
import { createAgent, type Listening, serve } from '../../src/server.ts';
import { genericClient } from '../support/grpc.ts';

const SERVICE = 'lf.a2a.v1.A2AService';
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const agent = createAgent({ name: 'Ear', description: 'Listens' }, async function* () {
  yield 'yes';
});

let listening: Listening;
let session: ClientHttp2Session;
let reports: string[] = [];
let reported = Promise.withResolvers<void>();

before(async () => {
  listening = await serve(agent, {
    grpc: grpcBinding(),
    logger: silent,
    limits: { maxBodyBytes: 1000 },
    observe(request, status) {
      reports.push(`${request.url.replace(/^.*\//, '')} ${status}`);
      reported.resolve();
    },
  }).listen();
  session = connect(`http://${listening.grpc}`);
});
after(() => {
  session.destroy();
  return listening.close(0);
});

/** The beginning of a message of `size` bytes. */
const prefix = (size: number) => Buffer.from([0, 0, 0, size >> 8, size & 255]);

/** Sends a request, and returns what is reported of it. */
async function reportOf(headers: OutgoingHttpHeaders, body?: Buffer): Promise<string> {
  reports = [];
  reported = Promise.withResolvers();
  const stream = session.request({
    ':method': 'POST',
    ':path': `/${SERVICE}/SendMessage`,
    'content-type': 'application/grpc',
    ...headers,
  });
  stream.on('error', () => undefined).resume();
  if (body) stream.end(body);
  await once(stream, 'response');
  await reported.promise;
  stream.close();
  return reports.join();
}

test('the errors that no method makes are reported like others', async () => {
  const none = prefix(0);
  assert.equal(await reportOf({ ':path': `/${SERVICE}/Nothing` }, none), 'Nothing 501');
  assert.equal(
    await reportOf({ 'content-type': 'application/grpc+json' }, none),
    'SendMessage 415',
  );
  assert.equal(await reportOf({ ':method': 'PUT' }, none), 'SendMessage 405');
  assert.equal(await reportOf({ 'grpc-timeout': '10S' }, prefix(2000)), 'SendMessage 413');
  assert.equal(await reportOf({ 'grpc-timeout': 'soon' }, none), 'SendMessage 400');
  assert.equal(await reportOf({ 'grpc-encoding': 'gzip' }, none), 'SendMessage 501');
  assert.equal(
    await reportOf({}, Buffer.concat([prefix(1), Buffer.from([255])])),
    'SendMessage 400',
  );
  // The parameters of a content type mean nothing.
  const type = 'application/grpc; charset=utf-8';
  assert.equal(await reportOf({ 'content-type': type }, none), 'SendMessage 400');
  // The body never comes.
  assert.equal(await reportOf({ 'grpc-timeout': '20m' }), 'SendMessage 504');
});

test('a request whose client leaves before the answer is reported with the status 499', async () => {
  reports = [];
  const leaving = connect(`http://${listening.grpc}`);
  const stream = leaving.request({
    ':method': 'POST',
    ':path': `/${SERVICE}/SendMessage`,
    'content-type': 'application/grpc',
  });
  stream.on('error', () => undefined);
  await once(stream, 'ready');
  stream.write(prefix(100));
  // The ping comes back after the server has seen the request.
  await new Promise((resolve) => leaving.ping(resolve));
  reported = Promise.withResolvers();
  leaving.destroy();
  await reported.promise;
  assert.deepEqual(reports, ['SendMessage 499']);
});

test('the services for tools are reported, too', async () => {
  using health = genericClient(listening.grpc ?? '', 'grpc.health.v1.Health');
  reports = [];
  await health.call('Check', {});
  await assert.rejects(health.call('Check', { service: 'none' }));
  const watch = health.stream('Watch', {});
  watch.on('error', () => undefined);
  await once(watch, 'data');
  watch.cancel();
  assert.deepEqual(reports, ['Check 200', 'Check 404', 'Watch 200']);
});
