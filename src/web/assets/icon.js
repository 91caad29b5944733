/* Converts a chosen picture to the icon format of games before it is sent. */
const input = document.querySelector('[data-icon]');

input.accept = 'image/*';
input.addEventListener('change', () => void scale());

async function scale() {
  const [file] = input.files;
  if (!file) return;
  // A file that is not a picture is sent unchanged. The service refuses it with a message.
  const icon = await iconOf(file);
  if (icon === file || input.files[0] !== file) return;
  const chosen = new DataTransfer();
  chosen.items.add(icon);
  input.files = chosen.files;
}
