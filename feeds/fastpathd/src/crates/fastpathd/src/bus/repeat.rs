// SPDX-License-Identifier: GPL-2.0-or-later

use std::time::Duration;

use ubus::{CallError, Status};

const TRIES: u32 = 5;
const RETRY_INTERVAL: Duration = Duration::from_millis(300);

/// Makes a read-only call, and retries if rpcd loses the answer. rpcd (since March 2026) closes the
/// pipes of a plug-in's program twice, which can close the pipe of a concurrent call.
pub(crate) async fn read_again<T, F, A>(mut call: F) -> Result<T, CallError>
where
    F: FnMut() -> A,
    A: Future<Output = Result<T, CallError>>,
{
    for _ in 1..TRIES {
        match call().await {
            Err(error) if error.status() == Status::NoData => {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            answer => return answer,
        }
    }
    call().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls_until(answers: &[Status]) -> (usize, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let calls = std::cell::Cell::new(0);
        let answer = runtime.block_on(read_again(|| {
            let status = answers.get(calls.get()).copied();
            calls.set(calls.get() + 1);
            let request = "call fastpath.config get".to_owned();
            std::future::ready(
                status.map_or(Ok(()), |status| Err(CallError::Status { request, status })),
            )
        }));
        (calls.get(), answer.is_ok())
    }

    #[test]
    fn retries_a_call_whose_answer_was_lost() {
        assert_eq!(calls_until(&[]), (1, true));
        assert_eq!(calls_until(&[Status::NoData, Status::NoData]), (3, true));
        assert_eq!(calls_until(&[Status::NoData; 9]), (5, false));
        assert_eq!(calls_until(&[Status::PermissionDenied]), (1, false));
    }
}
