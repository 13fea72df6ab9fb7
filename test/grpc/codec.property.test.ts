/** The protobuf codec gives the same domain objects as the JSON codec, both ways, for all values. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { protoCodecOf } from '../../src/grpc/codec/index.ts';
import { codecOf, isStream, OPERATIONS, type UnaryOperation } from '../../src/protocol/index.ts';
import { arbitrariesOf } from '../support/codec-arbitraries.ts';

type Json = Record<string, unknown>;

const RUNS = { numRuns: 30 };

/** What bytes make of a message. */
function overTheWire(schema: DescMessage, message: Message): Message {
  return fromBinary(schema, toBinary(schema, message));
}

/** Fields whose content belongs to the peer. */
const OWN = new Set(['metadata', 'data', 'params', 'header']);

/**
 * The value as protobuf can tell it. proto3 does not distinguish an empty list, an empty text, zero or false from a
 * missing field, and a timestamp has no digits that are zero.
 */
function told(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => told(item));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (OWN.has(key)) return [[key, inner]];
    const empty = inner === '' || inner === false || inner === 0 || inner === undefined;
    // The text of a part is one of several contents, so it is told even if it is empty.
    if (empty && !(key === 'text' || key === 'bytes' || key === 'uri')) return [];
    if (typeof inner === 'object' && Object.keys(inner ?? {}).length === 0) {
      return Array.isArray(inner) || key === 'securitySchemes' ? [] : [[key, inner]];
    }
    // In 1.0, a call blocks unless it asks otherwise.
    if (key === 'blocking' && inner === true) return [];
    if (key === 'timestamp' || key === 'statusTimestampAfter') {
      return [[key, new Date(String(inner)).getTime()]];
    }
    return [[key, told(inner, key)]];
  });
  // Maps may have empty values.
  return name === 'scopes' || name === 'security' ? value : Object.fromEntries(fields);
}

for (const version of ['1.0', '0.3'] as const) {
  const proto = protoCodecOf(version);
  const json = codecOf(version, 'GRPC');
  const arbitrary = arbitrariesOf(json);

  /** Without the fields that the protobuf definition of 0.3 does not have. */
  function known(result: unknown): unknown {
    if (version === '1.0' || !(typeof result === 'object' && result && 'skills' in result)) {
      return result;
    }
    const { iconUrl: _, capabilities: __, securitySchemes: ___, ...card }: Json = Object(result);
    return card;
  }

  describe(`the protobuf codec of ${version}`, () => {
    test('an event is read as the JSON codec reads it, with its sequence number', () => {
      fc.assert(
        fc.property(arbitrary.event, fc.option(fc.nat()), (event, seq) => {
          const message = proto.encodeEvent(event, seq ?? undefined);
          const read = proto.decodeEvent(overTheWire(proto.eventSchema, message));
          assert.equal(read.seq, seq ?? undefined);
          assert.deepEqual(told(read.event), told(json.decodeEvent(json.encodeEvent(event))));
        }),
        RUNS,
      );
    });

    for (const operation of OPERATIONS) {
      const method = proto.methods.get(operation);
      if (!method) continue;

      test(`the parameters of ${operation} are read as the JSON codec reads them`, () => {
        fc.assert(
          fc.property(arbitrary.params[operation], (raw) => {
            const given = json.decodeParams(operation, json.encodeParams(operation, raw as never));
            // Over gRPC, `after` is metadata, and 0.3 has neither tenants nor metadata of a cancellation.
            const { after: _, ...params } = given as Record<string, unknown>;
            if (version === '0.3') {
              delete params.tenant;
              if (operation === 'cancelTask') delete params.metadata;
              // A resource name cannot contain a slash in an id.
              if (JSON.stringify([params.id, params.taskId]).includes('/')) return;
              if (String(params.pushNotificationConfigId).includes('/')) return;
              if (operation === 'getPushConfig' && !params.pushNotificationConfigId) return;
            }
            const message = proto.encodeParams(operation, params);
            const read = proto.decodeParams(operation, overTheWire(method.input, message));
            assert.deepEqual(told(read), told(params));
          }),
          RUNS,
        );
      });

      if (isStream(operation)) continue;
      test(`the result of ${operation} is read as the JSON codec reads it`, () => {
        const results: Record<UnaryOperation, fc.Arbitrary<unknown>> = arbitrary.results;
        fc.assert(
          fc.property(results[operation], (result) => {
            // A page has a size, and so has the whole list.
            if (operation === 'listTasks')
              Object.assign(Object(result), { pageSize: 50, totalSize: 7 });
            const message = proto.encodeResult(operation, result as never);
            const read = proto.decodeResult(operation, overTheWire(method.output, message));
            const same = json.decodeResult(
              operation,
              json.encodeResult(operation, result as never),
            );
            assert.deepEqual(told(known(read)), told(known(same)));
          }),
          RUNS,
        );
      });
    }
  });
}
