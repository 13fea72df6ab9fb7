/** The readiness check of the register. */
import { fileCheck } from '../../base/sqlite/index.ts';
import type { HealthCheck } from '../../http/index.ts';
import type { Register } from '../register/register.ts';

/**
 * Returns a check that writes a value that is already stored, because only a write detects a full or read-only disk.
 * The check also fails if the file was deleted or replaced, because later writes would be lost.
 */
export function registerCheck({
  db,
  transaction,
}: Pick<Register, 'db' | 'transaction'>): HealthCheck {
  const file = fileCheck(db);
  return () => {
    file.readable('SELECT 1 FROM key_salt');
    transaction(() => db.exec('UPDATE key_salt SET salt = salt'));
  };
}
