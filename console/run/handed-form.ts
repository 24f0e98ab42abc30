/** A form that another page filled in and that is longer than an address: handed over once, within the window. */
import type { RunForm } from './form.ts';

let handed: RunForm | null = null;

/** The next page that runs commands begins with it. */
export function handOver(form: RunForm): void {
  handed = form;
}

/** What was handed over, if anything was; it is gone then. */
export function takeHanded(): RunForm | null {
  const form = handed;
  handed = null;
  return form;
}
