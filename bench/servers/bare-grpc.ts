// The baseline of gRPC: bare connect-node, which answers with the same messages.
import { fromJson, toJson, type Message } from '@bufbuild/protobuf';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { createServer } from 'node:http2';
import { setImmediate as turn } from 'node:timers/promises';
import { isServerStreaming, isUnary, serviceSchema } from '../../src/grpc/codec/index.ts';

const contextId = '01a1de83-ec38-720c-9a18-5be34baa6db7';
const { sendMessage, sendStreamingMessage } = serviceSchema('lf.a2a.v1.A2AService').method;
if (!isUnary(sendMessage) || !isServerStreaming(sendStreamingMessage)) {
  throw new Error('the service has other methods than expected');
}

interface Sent {
  readonly message: { readonly parts: readonly [{ readonly text: string }] };
}

function textIn(request: Message): string {
  const { message }: Sent = Object(toJson(sendMessage!.input, request));
  return message.parts[0].text;
}

const handler = connectNodeAdapter({
  routes(router) {
    router.rpc(sendMessage, (request) => {
      const parts = [{ text: textIn(request).slice('echo '.length) }];
      const message = { messageId: contextId, contextId, role: 'ROLE_AGENT', parts };
      return fromJson(sendMessage.output, { message });
    });
    router.rpc(sendStreamingMessage, async function* (request) {
      const [, count = '2', size = '16'] = textIn(request).split(' ');
      for (let seq = 1; seq <= Number(count); seq++) {
        const artifact = { artifactId: 'chunks', parts: [{ text: 'x'.repeat(Number(size)) }] };
        const artifactUpdate = { taskId: contextId, contextId, artifact, append: true };
        yield fromJson(sendStreamingMessage.output, { artifactUpdate });
        await turn();
      }
    });
  },
});

const server = createServer(handler);
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address())));
