// An audit log in an array.
import type { Audit, AuditEntry } from '../../src/gateway/audit/audit.ts';
import type { Steps } from '../../src/gateway/register/register.ts';

export function auditInto(entries: AuditEntry[]): Audit {
  return {
    record(entry) {
      entries.push(entry);
      return nothing();
    },
  };
}

function* nothing(): Steps<void> {}
