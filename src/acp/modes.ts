/** The approval modes of a session. The command /approval sets the mode for all clients. */
import type { SessionMode, SessionModeState } from '@agentclientprotocol/sdk';

const MODES: readonly SessionMode[] = [
  { id: 'ask', name: 'Ask', description: 'Asks before every change' },
  { id: 'auto-edit', name: 'Auto-edit', description: 'Edits files without asking' },
  { id: 'plan', name: 'Plan', description: 'Changes no files and runs no commands' },
  { id: 'yolo', name: 'Yolo', description: 'Never asks for approval' },
];

export function modeState(currentModeId: string): SessionModeState {
  return { currentModeId, availableModes: [...MODES] };
}

export function isMode(id: string): boolean {
  return MODES.some((mode) => mode.id === id);
}

export function commandFor(mode: string): string {
  return `/approval ${mode}`;
}
