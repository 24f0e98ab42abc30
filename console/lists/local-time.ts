/** Instants as people give them to a filter: the time of their machine, to the second. Pure. */

/** Highest year that is written with four digits. */
const YEAR_MAX = 9_999;

/** What an input of date and time shows of an instant; empty where it is none. */
export function localTimeOf(instant: string): string {
  const at = new Date(instant);
  const year = at.getFullYear();
  if (Number.isNaN(year) || year < 0 || year > YEAR_MAX) return '';
  const [month, day, hour, minute, second] = [
    at.getMonth() + 1,
    at.getDate(),
    at.getHours(),
    at.getMinutes(),
    at.getSeconds(),
  ].map((part) => String(part).padStart(2, '0'));
  return `${String(year).padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}`;
}

/** The instant that such an input says, as the API takes it; empty where it says none, or one that nobody means. */
export function instantOf(localTime: string): string {
  const at = new Date(localTime);
  if (localTime === '' || Number.isNaN(at.getTime())) return '';
  const instant = at.toISOString();
  return /^\d{4}-/u.test(instant) ? instant : '';
}
