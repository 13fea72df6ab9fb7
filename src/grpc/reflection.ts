/** Server reflection, with which tools such as grpcurl read the definitions of the services. */
import { type DescFile, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { base64Encode } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ConnectRouter } from '@connectrpc/connect';
import { isObject } from '../base/index.ts';
import { type AppContext, clientOf, peerError } from '../http/index.ts';
import { grpcCallOf } from './call.ts';
import { isBidiStreaming, registry, serviceSchema } from './codec/index.ts';
import { grpcError } from './errors.ts';

const SERVICES = [
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
];

/**
 * Adds both versions of the reflection service. They list themselves, and the services that the router has when this
 * function is called.
 */
export function addReflection(router: ConnectRouter, app: AppContext): void {
  const names = new Set([...router.handlers.map(({ service }) => service.typeName), ...SERVICES]);
  const list = { service: [...names].map((name) => ({ name })) };

  function answerTo(request: Readonly<Record<string, unknown>>): Record<string, JsonValue> {
    if (request.listServices !== undefined) return { listServicesResponse: list };
    const { fileByFilename, fileContainingSymbol } = request;
    const file =
      typeof fileByFilename === 'string'
        ? registry.getFile(fileByFilename)
        : typeof fileContainingSymbol === 'string'
          ? fileOf(fileContainingSymbol)
          : undefined;
    if (file) return { fileDescriptorResponse: { fileDescriptorProto: [...filesFor(file)] } };
    return { errorResponse: { errorCode: Code.NotFound, errorMessage: 'not found' } };
  }

  for (const name of SERVICES) {
    const method = serviceSchema(name).method.serverReflectionInfo;
    if (!isBidiStreaming(method)) {
      throw new Error(`${name} has other methods than expected: run scripts/proto.ts`);
    }
    router.rpc(method, async function* (messages, context) {
      const { request, user, observed } = grpcCallOf(context);
      let release: (() => void) | undefined;
      try {
        release = app.streams.acquire(clientOf(user, request));
        observed(200);
        for await (const message of messages) {
          const asked = toJson(method.input, message);
          const answer = answerTo(isObject(asked) ? asked : {});
          yield fromJson(method.output, { originalRequest: asked, ...answer });
        }
      } catch (error) {
        throw grpcError(peerError(app, error));
      } finally {
        release?.();
      }
    });
  }
}

/**
 * Returns the file that defines a symbol, or undefined if there is none. A method or a field is in the file of its
 * parent.
 */
function fileOf(symbol: string): DescFile | undefined {
  const parent = symbol.slice(0, symbol.lastIndexOf('.'));
  return (registry.get(symbol) ?? registry.get(parent))?.file;
}

/** Returns a file and all files that it imports, serialized, as base64. */
function filesFor(file: DescFile, seen: Set<DescFile> = new Set()): Set<string> {
  const found = new Set<string>();
  if (seen.has(file)) return found;
  seen.add(file);
  found.add(base64Encode(toBinary(FileDescriptorProtoSchema, file.proto)));
  for (const each of file.dependencies) {
    for (const text of filesFor(each, seen)) found.add(text);
  }
  return found;
}
