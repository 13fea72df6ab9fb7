/** Checks a received message, without looking at its task. */
import { A2AError, type Call, type Message, type MessageSendParams } from '../protocol/index.ts';
import type { Runtime } from './runtime.ts';
import { wireOf } from './scope.ts';

/**
 * Throws an A2AError if the server cannot accept the message. `inputModes` are the accepted media types of files.
 */
export function checkMessage(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  inputModes: readonly string[] | undefined,
): void {
  const { message, configuration } = params;
  runtime.checkOpen();
  if (message.role !== 'user') {
    throw new A2AError('invalidParams', 'message.role: must be "user"');
  }
  if (configuration?.pushNotificationConfig) {
    if (!runtime.push) throw new A2AError('pushNotSupported');
    runtime.push.check(configuration.pushNotificationConfig, wireOf(call));
  }
  if (inputModes) checkInputModes(message, inputModes);
}

function checkInputModes({ parts }: Message, modes: readonly string[]): void {
  for (const part of parts) {
    const type = part.kind === 'file' ? part.file.mimeType : undefined;
    if (type !== undefined && !modes.some((mode) => covers(mode, type))) {
      throw new A2AError('contentTypeNotSupported', `This agent does not accept ${type}`, {
        info: { supported: modes.join(', ') },
      });
    }
  }
}

function covers(mode: string, type: string): boolean {
  if (mode === '*/*' || mode === type) return true;
  return mode.endsWith('/*') && type.startsWith(mode.slice(0, -1));
}
